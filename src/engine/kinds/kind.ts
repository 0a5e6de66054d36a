import type { GoalMatch } from '../goal/matching.ts';
import type { GoalTerm } from '../goal/terms.ts';
import type { Vocabulary } from '../goal/vocabulary.ts';
import type { WeightedMeasures } from '../rank/measures.ts';
import type { LineRule } from '../rules/line-rule.ts';
import type { Templates } from '../text/templates.ts';
import type { Units } from '../text/units.ts';
import type { View } from '../text/view.ts';
import type { Hints, Origin, SourceType } from '../types.ts';
import type { Inner, Protect } from './protection.ts';

/** The family of a text decides how its lines are protected, ranked and cut. */
export type Family = 'code' | 'docs' | 'log' | 'search' | 'diff' | 'listing' | 'json' | 'table';

/** Shapes of single lines by which kinds are recognised. */
export type Shape =
  | 'diff'
  | 'hunks'
  | 'grep'
  | 'listing'
  | 'git'
  | 'json'
  | 'testing'
  | 'compiler'
  | 'stamped'
  | 'failing'
  | 'frames'
  | 'headings'
  | 'rst'
  | 'codeLike';

/**
 * The number of examined lines by shape. Columns and prose are counted separately, because no pattern recognises them.
 */
export type Shapes = Record<Shape | 'lines' | 'table' | 'aligned' | 'prose', number>;

/** The facts by which lines are protected. */
export interface Protectable {
  readonly view: View;
  readonly units: Units;
  readonly templates: Templates;
  readonly inner: Inner;
  /** The source type of the contract: the caller's if given, else the kind's. */
  readonly sourceType: SourceType;
  readonly hints: Hints | undefined;
}

/** What was read of a text. Arrays are indexed by line. */
export interface Reading extends Omit<Protectable, 'inner' | 'hints'> {
  readonly kind: Kind;
  /** The kind's finer name, such as `python`, `test-run`, `grep`. */
  readonly name: string;
  readonly terms: readonly GoalTerm[];
  readonly words: Vocabulary;
  readonly match: GoalMatch;
}

/** Everything known about a text before lines are chosen. */
export interface Analysis extends Reading {
  /** Index into `RULES` of the rule by which a line must stay, 0 for none. */
  readonly keep: Uint8Array;
  /** Each line's estimated share of what the goal needs; the shares of a text sum to 1. */
  readonly value: Float64Array;
}

/** Consecutive lines: the first and the last index. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** What a cut contained, if it can be described better than as off the goal. */
export type CutNature =
  | { readonly is: 'passed-tests' }
  /** Lines of one shape; `like`: words of one of them. */
  | { readonly is: 'repeated'; readonly like: string };

/**
 * The exchange rate between a share of the size and a share of what the goal needs: at 1, a line is cut if its share of
 * what is needed is estimated to be smaller than its share of the size. Set by hand; `bench -- ruler` and `bench --
 * tool-results` show the effect of other values.
 */
export interface Boldness {
  /** The maximum by origin, unless the caller asked for this text to be cut. */
  readonly atCeiling: Readonly<Record<Origin, number>>;
  /** Boldness of texts from this size on, whatever their origin: in a long list more entries are alike. */
  readonly large?: { readonly size: number; readonly atCeiling: number };
  /**
   * A file that was read is cut with this boldness from this size on, in the units of a choice. A smaller file is cut
   * more mildly: a line costs as much as in a file of this size, because less can be saved and agents return to more of
   * the file. Absent: the size does not matter.
   */
  readonly readSize?: number;
  /** Boldness per unit of `1 / (1 - ratio)`, for a mild and for a deep cut. */
  readonly mild: number;
  readonly deep: number;
}

/**
 * Which lines may be rows of states: all, those of tables with bars, lines with a key, or the lines of tables (with
 * separators or aligned).
 */
export type RowScope = 'all' | 'bars' | 'keys' | 'tables' | 'none';

/** The lines that stay because they carry the structure of a text. */
export interface Structure {
  /** The rules of `Analysis.keep` and of the structure. */
  readonly keep: Uint8Array;
  /** As in `Units`. */
  readonly glued: Uint8Array;
}

/** One kind of text. A new kind is a file and a row in `all.ts`. */
export interface Kind {
  readonly family: Family;
  readonly sourceType: SourceType;
  /** Its finer names, the usual one first, each with its file extensions. */
  readonly names: Readonly<Record<string, string>>;
  /** Shapes of lines by which it is recognised. */
  readonly shapes: readonly LineRule<Shape>[];
  /**
   * The confidence that a text with these lines is of this kind, 0..1. The kind with the highest confidence is taken; 0
   * excludes it. Only the order of the numbers matters. The required shares of lines are chosen.
   */
  looksLike(seen: Shapes, hints: Hints | undefined): number;
  /**
   * Offset in the text at which the content of a line begins, for kinds whose lines have a prefix from another tool
   * (`app.log:12:`).
   */
  contentStart?(text: string, start: number, end: number): number;
  /** Divides a text into the blocks that are cut or kept together. */
  units(view: View): Units;
  /** Whether `units` fills in `declared`. */
  readonly declares?: boolean;
  /** Protects the lines that must stay, by the contract and by what the kind itself needs to be understood. */
  protect(text: Protectable, protect: Protect): void;
  /** The goal's terms that distinguish lines of such a text. Default: all. */
  informativeTerms?(terms: readonly GoalTerm[]): GoalTerm[];
  /** Whether words outside the goal take part in the ranking. */
  readonly ranksByAllWords?: boolean;
  /**
   * The rows of states in texts of a name. Default: none: in code, words of failure are names.
   */
  rows?(name: string, hints: Hints | undefined): RowScope;
  /** The lines of a text of a name that may be rows of states. Default: all. */
  mayBeRow?(text: Pick<Protectable, 'view' | 'templates'>, name: string): (line: number) => boolean;
  /** Protects lines that matter only for this goal. */
  protectMatches?(reading: Reading, keep: Uint8Array): void;
  /** The value of each line for the goal, up to a common factor. */
  rank(reading: Reading): Float64Array;
  /** The measures behind the ranking, for explanations; absent if the ranking is not a weighted sum. */
  measure?(reading: Reading): WeightedMeasures[];
  readonly boldness: Boldness;
  /** Finer names whose short texts are cut as well, because the removed lines resemble those that stay. */
  readonly cutWhenSmall?: readonly string[];
  /** The structure that may be cut only at the ceiling ratio. */
  keepStructure?(analysis: Analysis): Structure;
  /**
   * Flags of the lines that define what the goal names. In a file that was read, such definitions are preferred to
   * mentions.
   */
  definitions?(analysis: Analysis): Uint8Array;
  /** Divides a chosen cut to keep lines that its reason would not cover. Default: it stays as it is. */
  divide?(reading: Reading, run: Span): readonly Span[];
  /** What a cut contained, if it can be described better than as off the goal. */
  natureOf?(reading: Reading, run: Span): CutNature | null;
}

/** The same boldness for every origin. */
export function always(boldness: number): Record<Origin, number> {
  return { read: boldness, command: boldness, search: boldness, listing: boldness, unknown: boldness };
}

/** About 26,000 characters. Tuned with `bench -- bill`. */
export const READ_SIZE = 8_000;
