import type { RenderOptions } from '../../engine/text/render.ts';
import type { Decision } from '../ports.ts';

/**
 * What went out of one message: which of its texts were cut, and how. It stands under a hash of the conversation up to
 * the message, as the client sent it, and holds none of its texts: a request that brings the message again brings them.
 * The options are those by which the cuts were written.
 */
export interface SentMessage extends RenderOptions {
  /** 32 hex digits that stand for the message and all before it. */
  readonly prefix: string;
  readonly texts: readonly SentText[];
}

/** Where a text stands in its message, whatever the settings by which it was found. */
export interface TextPlace {
  /** Index among the message's texts. */
  readonly text: number;
  /** JSON in strings of JSON: where each string begins in the one around it, from the outermost inwards. */
  readonly json: readonly number[];
  /** Where it begins in the innermost string, and how long it is, in UTF-16 units. */
  readonly start: number;
  readonly chars: number;
}

/** A text that was cut. */
export interface SentText extends TextPlace {
  readonly decision: SentDecision;
}

/** A decision without what a user said, and without what it was made from. */
export type SentDecision = Omit<Decision, 'goal' | 'basis'>;
