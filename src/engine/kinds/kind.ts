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

/** What a text's lines are like, and so how they are protected, ranked and cut. */
export type Family = 'code' | 'docs' | 'log' | 'search' | 'diff' | 'listing' | 'json' | 'table';

/** Shapes of single lines by which kinds are recognised. */
export type Shape =
  | 'diff'
  | 'hunks'
  | 'grep'
  | 'listing'
  | 'json'
  | 'testing'
  | 'compiler'
  | 'stamped'
  | 'failing'
  | 'frames'
  | 'headings'
  | 'rst'
  | 'codeLike';

/** How many of the examined lines have which shape; columns and prose need more than a pattern. */
export type Shapes = Record<Shape | 'lines' | 'table' | 'aligned' | 'prose', number>;

/** What lines may be protected by. */
export interface Protectable {
  readonly view: View;
  readonly units: Units;
  readonly templates: Templates;
  readonly inner: Inner;
  /** What the text is to the contract; the caller's word goes before the kind's own. */
  readonly sourceType: SourceType;
}

/** What was read of a text; arrays are by line index. */
export interface Reading extends Omit<Protectable, 'inner'> {
  readonly kind: Kind;
  /** The kind's finer name, such as `python`, `test-run`, `grep`. */
  readonly name: string;
  readonly terms: readonly GoalTerm[];
  readonly words: Vocabulary;
  readonly match: GoalMatch;
}

/** All that is known of a text before lines are chosen. */
export interface Analysis extends Reading {
  /** Index into `RULES` of the rule by which a line must stay, 0 for none. */
  readonly keep: Uint8Array;
  /** The share of all that the goal needs which a line is thought to hold; the shares of a text sum to 1. */
  readonly value: Float64Array;
}

/** Lines in a row, as line indices, both inclusive. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** What a cut was, beyond being beside the goal. */
export type CutNature =
  | { readonly is: 'passed-tests' }
  /** Lines of one shape; `like`: words of one of them. */
  | { readonly is: 'repeated'; readonly like: string };

/**
 * What a share of the size is worth against the same share of what the goal needs: at 1 a line goes when it is thought to
 * hold less of what is needed than its share of the size. Chosen; `bench -- ruler` and `bench -- tool-results` show what
 * another value does.
 */
export interface Boldness {
  /** At most, by how the text came, unless the caller asked for this very text to be cut. */
  readonly atCeiling: Readonly<Record<Origin, number>>;
  /** The same for large texts, from this size on, however they came: of many entries more are like others. */
  readonly large?: { readonly size: number; readonly atCeiling: number };
  /**
   * Size, as a choice counts it, from which on a file is cut this boldly where it is read. In smaller ones a line is as dear
   * as in one of this size: less is won there, and more of it is come back to. Absent: the size has no say.
   */
  readonly readSize?: number;
  /** For each unit of `1 / (1 - ratio)`: in a mild cut, and in a deep one. */
  readonly mild: number;
  readonly deep: number;
}

/** What stays for the structure of a text, by line. */
export interface Structure {
  /** The rules of `Analysis.keep`, and those of the structure. */
  readonly keep: Uint8Array;
  /** As in `Units`. */
  readonly glued: Uint8Array;
}

/** All that is known of one kind of text. A new kind is a file and a row in `all.ts`. */
export interface Kind {
  readonly family: Family;
  readonly sourceType: SourceType;
  /** Its finer names, the usual one first, each with the file extensions that say so. */
  readonly names: Readonly<Record<string, string>>;
  /** Shapes of lines that it is known by. */
  readonly shapes: readonly LineRule<Shape>[];
  /**
   * How surely a text of these lines is of this kind, 0..1; the surest kind has it, 0 claims nothing. The numbers only say
   * which claim goes before which, and the shares of lines they ask for are chosen: most lines, or one that decides.
   */
  looksLike(seen: Shapes, hints: Hints | undefined): number;
  /**
   * Where what is judged of a line begins, as an offset into the text, for kinds whose lines stand behind what another
   * tool put in front of them (`app.log:12:`).
   */
  contentStart?(text: string, start: number, end: number): number;
  /** Divides a text into the blocks that are cut or kept together. */
  units(view: View): Units;
  /** Whether `units` names what lines declare. */
  readonly declares?: boolean;
  /** Protects the lines that must stay, by the contract and by what the kind itself needs to be understood. */
  protect(text: Protectable, protect: Protect): void;
  /** Which of the goal's terms distinguish lines of such a text; all of them where it is absent. */
  informativeTerms?(terms: readonly GoalTerm[]): GoalTerm[];
  /** Whether words that the goal does not ask for take part in the ranking. */
  readonly ranksByAllWords?: boolean;
  /** Protects lines that matter only for this goal. */
  protectMatches?(reading: Reading, keep: Uint8Array): void;
  /** What each line is worth to the goal, up to a common factor. */
  rank(reading: Reading): Float64Array;
  /** The measures that the ranking weighs, for explanations; absent where it is not a weighted sum. */
  measure?(reading: Reading): WeightedMeasures[];
  readonly boldness: Boldness;
  /** Finer names under which short texts are cut too: what goes of them is like what stays. */
  readonly cutWhenSmall?: readonly string[];
  /** Rules and glue where lines of structure stay that only the ceiling lets go. */
  keepStructure?(analysis: Analysis): Structure;
  /** Lines that define what the goal names, 1 for each; in a file that is read they are kept before mentions. */
  definitions?(analysis: Analysis): Uint8Array;
  /** What a cut was, if more can be said than that it is beside the goal. */
  natureOf?(reading: Reading, run: Span): CutNature | null;
}

/** The same boldness however a text came. */
export function always(boldness: number): Record<Origin, number> {
  return { read: boldness, command: boldness, search: boldness, listing: boldness, unknown: boldness };
}

/** About 26,000 characters. Chosen by `bench -- bill`. */
export const READ_SIZE = 8_000;
