import type { AnswerItem } from '../dialect.ts';

/** How a wire spells its answers: the table of the reader. Paths are keys joined by dots. */
export interface AnswerFormat {
  /** Matches the name or the JSON of events that are decoded, besides those that every wire decodes. */
  readonly wanted?: RegExp;
  /** Where token counts may stand, in an event and in a whole answer. */
  readonly usage: readonly string[];
  readonly figures: Figures;
  /** Figures that the provider omits if they are 0. */
  readonly omitted?: Readonly<Counts>;
  /** Whether the reported input includes tokens that were read from a cache or written to it. */
  readonly inputIncludesCache: boolean;
  /** Reports of further model calls within one answer whose tokens are billed, but not part of the usage. */
  readonly besides?: (usage: object) => readonly object[];
  /** Keys of the strings that contain the model's output in the events of a stream. */
  readonly texts: readonly string[];
  /** Where an id may stand that later requests refer to. */
  readonly id?: readonly string[];
  /** Where the provider lists blocks of the request that it dropped or that failed its check of the history. */
  readonly transformations?: readonly string[];
  /**
   * The items that an event or a whole answer adds to the turn. Default: none.
   *
   * @param isFirst - no item has been added before
   */
  readonly items?: (event: unknown, type: string, isFirst: boolean) => readonly AnswerItem[];
}

/**
 * Where each figure stands in the token counts. The largest of several spellings applies; `a+b` is a sum. Absent: the
 * wire does not report the figure.
 */
export interface Figures {
  readonly input: readonly string[];
  readonly output: readonly string[];
  readonly read: readonly string[];
  readonly written?: readonly string[];
  /** Of `written`, with the longer of two lifetimes. */
  readonly writtenLong?: readonly string[];
  /** Of `output`. */
  readonly reasoning?: readonly string[];
}

/** Token counts by figure; only reported ones. */
export type Counts = { -readonly [Figure in keyof Figures]?: number };
