import { mergeRules } from '../rules/line-rule.ts';
import { Matcher } from '../rules/matcher.ts';
import { isBlankLine, isUnnumbered, type View } from '../text/view.ts';
import { KINDS } from './all.ts';
import type { Shape, Shapes } from './kind.ts';
import { ColumnCounts, LineColumns } from './line-columns.ts';

/** Lines that are looked at of a long text, a third of them its first ones. Chosen: shares are known to a few percent. */
const SAMPLED_LINES = 240;
/** What a line is shows at its beginning. */
const READ_CHARS = 240;

/** Every shape with its pattern. */
const SHAPE_RULES = mergeRules(KINDS.flatMap(({ shapes }) => shapes));
/** A single line of one of these tells what a text is. */
const TELLING: readonly Shape[] = ['diff', 'hunks', 'headings', 'rst'];
const matcher = new Matcher(SHAPE_RULES);
const tellingMatcher = new Matcher(SHAPE_RULES.filter(({ name }) => TELLING.includes(name)));

/** One of several looks at a text, each at other lines of the sample. */
export interface Look {
  readonly which: number;
  readonly of: number;
}

const WHOLE: Look = { which: 0, of: 1 };

const NONE = Object.fromEntries(
  [...SHAPE_RULES.map(({ name }) => name), 'lines', 'prose', 'table', 'aligned'].map((name) => [name, 0]),
) as Shapes;

/** Looks at lines all over a text, the first ones more closely. What is rare but telling is looked for in all of them. */
export function countShapes(view: View, { which, of }: Look = WHOLE): Shapes {
  const seen: Shapes = { ...NONE };
  const count = ({ named }: Matcher<Shape>, fit: number): void => {
    if (fit === 0) return;
    for (const { name, bits } of named) if ((fit & bits) !== 0) seen[name]++;
  };
  const line = new LineColumns();
  const columns = new ColumnCounts();
  const step = Math.max(1, Math.floor(view.n / SAMPLED_LINES));
  for (let i = 0, k = 0; i < view.n; i += i < SAMPLED_LINES / 3 ? 1 : step, k++) {
    if (isBlankLine(view, i) || isUnnumbered(view, i)) continue;
    if (k % of !== which) {
      count(tellingMatcher, tellingMatcher.matches(view, i, READ_CHARS));
      continue;
    }
    const from = view.from[i] ?? 0;
    line.read(view.codes, from, Math.min(view.to[i] ?? 0, from + READ_CHARS));
    columns.add(line);
    count(matcher, matcher.matches(view, i, READ_CHARS));
    seen.lines++;
    if (line.prose) seen.prose++;
  }
  seen.table = columns.equal();
  seen.aligned = columns.aligned();
  return seen;
}
