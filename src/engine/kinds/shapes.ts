import { type LineRule, mergeRules } from '../rules/line-rule.ts';
import { Matcher } from '../rules/matcher.ts';
import { isBlankLine, isUnnumbered, type View } from '../text/view.ts';
import { KINDS } from './all.ts';
import type { Shape, Shapes } from './kind.ts';
import { ColumnCounts } from './line-columns.ts';

/**
 * Longer texts are sampled with this many to twice as many lines, the first ones without gaps. Set by hand: accurate to
 * a few percent.
 */
const SAMPLED_LINES = 240;
/** Maximum number of characters examined per line. Set by hand. */
const READ_CHARS = 240;

/** Shapes of which a single line identifies the text. */
const DISTINCTIVE: readonly Shape[] = ['diff', 'hunks', 'headings', 'rst'];
const isDistinctive = ({ name }: LineRule<Shape>): boolean => DISTINCTIVE.includes(name);
const SHAPE_RULES = mergeRules(KINDS.flatMap(({ shapes }) => shapes));
const distinctiveShapes = new Matcher(SHAPE_RULES.filter(isDistinctive));
const otherShapes = new Matcher(SHAPE_RULES.filter((rule) => !isDistinctive(rule)));

const NONE = Object.fromEntries(
  [...SHAPE_RULES.map(({ name }) => name), 'lines', 'prose', 'table', 'aligned'].map((name) => [name, 0]),
) as Shapes;

const samples = new WeakMap<View, SampledLines>();

export function samplesOf(view: View): SampledLines {
  const known = samples.get(view) ?? new SampledLines(view);
  samples.set(view, known);
  return known;
}

/** A sample of lines from the whole text, denser at its beginning, and the number of lines by shape. */
class SampledLines {
  readonly #view: View;
  /** Indices of the examined lines; -1 for uninformative ones. */
  readonly #lines: number[] = [];
  /** The number of sampled lines with identifying shapes. */
  readonly #distinctive: Shapes = { ...NONE };

  constructor(view: View) {
    this.#view = view;
    const step = Math.max(1, Math.floor(view.n / SAMPLED_LINES));
    for (let i = 0; i < view.n; i += i < SAMPLED_LINES / 3 ? 1 : step) {
      const hasContent = !isBlankLine(view, i) && !isUnnumbered(view, i);
      this.#lines.push(hasContent ? i : -1);
      if (hasContent) countNamed(this.#distinctive, distinctiveShapes, distinctiveShapes.matches(view, i, READ_CHARS));
    }
  }

  /** Indices of the informative lines in the sample. */
  lines(): readonly number[] {
    return this.#lines.filter((i) => i >= 0);
  }

  /**
   * Counts the shapes of every `of`-th sampled line, from `which` on. Distinctive shapes are counted in all sampled
   * lines.
   */
  shapes(which = 0, of = 1): Shapes {
    const view = this.#view;
    const seen: Shapes = { ...this.#distinctive };
    const columns = new ColumnCounts();
    for (let k = which; k < this.#lines.length; k += of) {
      const i = this.#lines[k] ?? -1;
      if (i < 0) continue;
      const from = view.from[i] ?? 0;
      if (columns.add(view.codes, from, Math.min(view.to[i] ?? 0, from + READ_CHARS))) seen.prose++;
      countNamed(seen, otherShapes, otherShapes.matches(view, i, READ_CHARS));
      seen.lines++;
    }
    seen.table = columns.equal();
    seen.aligned = columns.aligned();
    return seen;
  }
}

function countNamed(seen: Shapes, { named }: Matcher<Shape>, fit: number): void {
  if (fit === 0) return;
  for (const { name, bits } of named) if ((fit & bits) !== 0) seen[name]++;
}
