import type { RenderOptions } from '../../engine/text/render.ts';
import type { Decision } from '../ports.ts';

/**
 * How one message was sent: which of its texts were cut, and how. It is stored under a hash of the conversation up to
 * the message, as the client sent it. It contains none of the texts, since a request that repeats the message contains
 * them. The options are those with which the cuts were written.
 */
export interface SentMessage extends RenderOptions {
  /** Hash of the message and all messages before it, 32 hex digits. */
  readonly prefix: string;
  readonly texts: readonly SentText[];
}

/** The place of a text in its message, independent of the settings by which it was found. */
export interface TextPlace {
  /** Index among the message's texts. */
  readonly text: number;
  /** For JSON nested in JSON strings: the offset of each string in the one around it, outermost first. */
  readonly json: readonly number[];
  /** Where it begins in the innermost string, and how long it is, in UTF-16 units. */
  readonly start: number;
  readonly chars: number;
}

/** A text that was cut. */
export interface SentText extends TextPlace {
  readonly decision: SentDecision;
}

/** A decision without its goal (which contains user text) and without its inputs. */
export type SentDecision = Omit<Decision, 'goal' | 'basis'>;
