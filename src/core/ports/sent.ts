import type { Decision } from '../ports.ts';

/**
 * What went out of one message: which of its texts were cut, and how. It stands under a hash of the conversation up to
 * the message, as the client sent it, and holds none of its texts: a request that brings the message again brings them.
 */
export interface SentMessage {
  /** 32 hex digits that stand for the message and all before it. */
  readonly prefix: string;
  /** How the cuts were written into the texts. */
  readonly annotateLines: boolean;
  readonly includeMarkers: boolean;
  readonly shortMarkers?: boolean;
  readonly texts: readonly SentText[];
}

/** A text that was cut. */
export interface SentText {
  /** Index among the message's texts. */
  readonly text: number;
  /** Where each string of JSON begins in the one around it, from the outermost inwards. */
  readonly json: readonly number[];
  /** Where it begins in the innermost string, and its length, in UTF-16 units. */
  readonly start: number;
  readonly chars: number;
  readonly decision: SentDecision;
}

/** A decision without what a user said, and without what it was made from. */
export type SentDecision = Omit<Decision, 'goal' | 'basis'>;
