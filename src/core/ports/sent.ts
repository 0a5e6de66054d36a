import type { RenderOptions } from '../../engine/text/render.ts';
import type { Decision } from '../ports.ts';

/**
 * How one message was sent: which texts were cut, and how. Stored under a hash of the received conversation up to this
 * message. Contains no texts, because requests that repeat the message contain them. The render options are the ones
 * used when the cuts were made.
 */
export interface SentMessage extends RenderOptions {
  /** Hash of the message and all messages before it, 32 hex digits. */
  readonly prefix: string;
  readonly texts: readonly SentText[];
}

/** Position of a text in its message, independent of the settings by which it was found. */
export interface TextPlace {
  /** Index among the message's texts. */
  readonly text: number;
  /** For JSON nested in JSON strings: the offset of each string in the one around it, outermost first. */
  readonly json: readonly number[];
  /** Offset in the innermost string, and length, in UTF-16 units. */
  readonly start: number;
  readonly chars: number;
}

/** A text that was cut. */
export interface SentText extends TextPlace {
  readonly decision: SentDecision;
}

/** A decision without the goal (which contains user text) and without the inputs. */
export type SentDecision = Omit<Decision, 'goal' | 'basis'>;
