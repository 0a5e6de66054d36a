import type { GoalMatch } from '../goal/matching.ts';
import type { GoalTerm } from '../goal/terms.ts';
import type { Vocabulary } from '../goal/vocabulary.ts';
import type { WeightedMeasures } from '../rank/measures.ts';
import type { LineRule } from '../rules/line-rule.ts';
import type { Templates } from '../text/templates.ts';
import { isBlankLine, type Units, type View } from '../text/view.ts';
import type { Hints, Origin, SourceType } from '../types.ts';

/** Names of the protection rules; a line's rule is an index into this list, 0 for none. */
export const RULES = [
  '',
  'no-prune',
  'frame',
  'header',
  'import',
  'declaration',
  'failure',
  'news',
  'named',
  'trace',
  'summary',
  'edge',
  'heading',
  'fence',
  'diff-header',
  'file-spread',
  'structure',
  'id',
  'recovered',
  'state',
  'outlier',
] as const;

export type Rule = (typeof RULES)[number];

/** Sets a line's rule, unless it already has one. */
export type Protect = (line: number, rule: Rule) => void;

/** The part of a text between a client's header and footer, as line indices `[first, end)`. */
export interface Inner {
  readonly first: number;
  readonly end: number;
}

/** Protects the first or the last non-blank line. */
export function protectEdge(view: View, { first, end }: Inner, last: boolean, protect: Protect): void {
  let i = last ? end - 1 : first;
  while (i >= first && i < end && isBlankLine(view, i)) i += last ? -1 : 1;
  if (i >= first && i < end) protect(i, 'edge');
}

/** The family of a text decides how its lines are protected, ranked and cut. */
export type Family = 'code' | 'docs' | 'log' | 'search' | 'diff' | 'listing' | 'json' | 'table';

/** Line shapes by which kinds are recognised. */
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

/** Number of examined lines per shape. Columns and prose are counted separately, because they have no pattern. */
export type Shapes = Record<Shape | 'lines' | 'table' | 'aligned' | 'prose', number>;

/** Facts needed for protecting lines. */
export interface Protectable {
  readonly view: View;
  readonly units: Units;
  readonly templates: Templates;
  readonly inner: Inner;
  /** Source type of the contract: given by the caller, or derived from the kind. */
  readonly sourceType: SourceType;
  readonly hints: Hints | undefined;
}

/** Facts read from a text. Arrays are indexed by line. */
export interface Reading extends Omit<Protectable, 'inner' | 'hints'> {
  readonly kind: Kind;
  /** Finer name of the kind, such as `python`, `test-run`, `grep`. */
  readonly name: string;
  readonly terms: readonly GoalTerm[];
  readonly words: Vocabulary;
  readonly match: GoalMatch;
}

/** Everything known about a text before lines are chosen. */
export interface Analysis extends Reading {
  /** The caller's hints; the origin of a document is `read`. */
  readonly hints: Hints | undefined;
  /** Index into `RULES` of the protecting rule, 0 for none. */
  readonly keep: Uint8Array;
  /** Estimated share of what the goal needs, per line; the shares of a text sum to 1. */
  readonly value: Float64Array;
}

/** Consecutive lines: the first and the last index. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** Description of a cut's contents, if there is a better one than off-topic. */
export type CutNature =
  | { readonly is: 'passed-tests' }
  /** Lines of one shape; `like` quotes words of one of them. */
  | { readonly is: 'repeated'; readonly like: string };

/**
 * The exchange rate between a share of the size and a share of what the goal needs: at 1, a line is cut if its share of
 * what is needed is estimated to be smaller than its share of the size. Set by hand; `npm run lab -- eval`
 * shows the effect of other values.
 */
export interface Boldness {
  /** Maximum per origin, unless the caller explicitly requested the cut. */
  readonly atCeiling: Readonly<Record<Origin, number>>;
  /** Boldness for texts from this size on, regardless of origin, because long lists have more similar entries. */
  readonly large?: { readonly size: number; readonly atCeiling: number };
  /**
   * Size, in units of a choice, from which a file that was read is cut with this boldness. Smaller files are cut more
   * mildly, because less can be saved and agents return to more of the file. If absent, size does not matter.
   */
  readonly readSize?: number;
  /** Boldness per unit of `1 / (1 - ratio)`, for mild and for deep cuts. */
  readonly mild: number;
  readonly deep: number;
}

/** Lines that may be rows of states: all lines, tables with bars, lines with a key, or tables of any form. */
export type RowScope = 'all' | 'bars' | 'keys' | 'tables' | 'none';

/** Lines that stay because they carry the structure of a text. */
export interface Structure {
  /** The rules of `Analysis.keep` and of the structure. */
  readonly keep: Uint8Array;
  /** See `Units`. */
  readonly glued: Uint8Array;
}

/** One kind of text. A new kind is a file and a row in `all.ts`. */
export interface Kind {
  readonly family: Family;
  readonly sourceType: SourceType;
  /** Finer names, the default first, each with its file extensions. */
  readonly names: Readonly<Record<string, string>>;
  /** Line shapes by which the kind is recognised. */
  readonly shapes: readonly LineRule<Shape>[];
  /**
   * Confidence that a text with these shapes is of this kind, 0..1; 0 excludes the kind. The kind with the highest
   * confidence is chosen, so only the order of the values matters.
   */
  looksLike(seen: Shapes, hints: Hints | undefined): number;
  /** Offset of a line's content, for kinds whose lines carry another tool's prefix (`app.log:12:`). */
  contentStart?(text: string, start: number, end: number): number;
  /** Divides a text into the blocks that are cut or kept together. */
  units(view: View): Units;
  /** Whether `units` fills in `declared`. */
  readonly declares?: boolean;
  /** Protects lines required by the contract, and lines without which the text cannot be understood. */
  protect(text: Protectable, protect: Protect): void;
  /** Goal terms that distinguish lines of this kind. Default: all. */
  informativeTerms?(terms: readonly GoalTerm[]): GoalTerm[];
  /** Lines mention names, as code and prose do, so a name alone tells little; in other texts it is data. */
  readonly mentionsNames?: boolean;
  /** Lines consist of cells: one that is what the goal asks for names its line. */
  readonly hasCells?: boolean;
  /** Lines are hits of words: one with a word exactly as the goal spells it stands out. */
  readonly hasHits?: boolean;
  /** Whether words outside the goal influence the ranking. */
  readonly ranksByAllWords?: boolean;
  /** Lines that may be rows of states, by finer name. Default: none, because failure words in code are names. */
  rows?(name: string, hints: Hints | undefined): RowScope;
  /** Narrows down candidate rows of states, by finer name. Default: all lines. */
  mayBeRow?(text: Pick<Protectable, 'view' | 'templates'>, name: string): (line: number) => boolean;
  /** Protects lines that matter only for this goal. */
  protectMatches?(reading: Reading, keep: Uint8Array): void;
  /** The value of each line for the goal, up to a common factor. */
  rank(reading: Reading): Float64Array;
  /** Features behind the ranking, for explanations; absent if the ranking is not a weighted sum. */
  measure?(reading: Reading): WeightedMeasures[];
  readonly boldness: Boldness;
  /** Size in characters from which a question makes cuts bolder; default: as for other outputs under a dial. */
  readonly leastAskedChars?: number;
  /** Finer names of kinds whose short texts are cut too, because their lines resemble each other. */
  readonly cutWhenSmall?: readonly string[];
  /** The structure that may be cut only at the ceiling ratio. */
  keepStructure?(analysis: Analysis): Structure;
  /** Flags lines that define what the goal names; in a file that was read, they take precedence over mentions. */
  definitions?(analysis: Analysis): Uint8Array;
  /** Splits a chosen cut to keep lines that its reason would not cover. Default: unchanged. */
  divide?(reading: Reading, run: Span): readonly Span[];
  /** Extends chosen cuts by lines that mean nothing without what was cut, by at most `spare` lines. Default: unchanged. */
  extend?(analysis: Analysis, runs: readonly Span[], spare: number): readonly Span[];
  /** Describes a cut's contents, if there is a better description than off-topic. */
  natureOf?(reading: Reading, run: Span): CutNature | null;
}

export function always(boldness: number): Record<Origin, number> {
  return { read: boldness, command: boldness, search: boldness, listing: boldness, unknown: boldness };
}

/** About 26,000 characters. Tuned with `bench -- bill`. */
export const READ_SIZE = 8_000;
