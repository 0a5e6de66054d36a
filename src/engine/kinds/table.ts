import { EVEN_SHARE, rankEntries } from '../rank/lookup.ts';
import { LinePattern } from '../rules/matcher.ts';
import { contentOf, evenUnits, isBlankLine } from '../text/view.ts';
import { protectByContract } from './contract.ts';
import { always, type Kind, type Protect, type Protectable, type Shapes } from './kind.ts';

/** Number of leading lines searched for the separator between head and rows. Set by hand. */
const HEAD_LINES = 4;
const READ_CHARS = 200;

const RULER = /^\s*\|?[\s:|+-]+$/;

/** Rows of columns, separated by characters or aligned by blanks. */
export const table: Kind = {
  family: 'table',
  hasCells: true,
  sourceType: 'docs',
  names: { table: 'csv tsv' },
  shapes: [],
  looksLike(seen, hints) {
    const printed = seen.compiler + seen.testing < seen.lines * 0.1;
    // in code, most lines do not share two columns
    const isLikeCode = hints?.origin === 'command' && seen.codeLike > seen.lines * 0.6;
    return (isTable(seen) || seen.aligned > seen.lines * (isLikeCode ? 0.6 : 0.9)) && printed ? 0.4 : 0;
  },
  units: (view) => evenUnits(view.n, 1),
  protect(text, protect) {
    protectByContract(text, protect);
    const { view, inner } = text;
    protect(inner.first, 'structure');
    for (let i = inner.first + 1; i < Math.min(inner.end, inner.first + HEAD_LINES); i++) {
      if (RULER.test(contentOf(view, i, READ_CHARS))) protect(i, 'structure');
    }
    protect(inner.end - 1, 'edge');
    protectFurtherTables(text, protect);
  },
  rows: () => 'all',
  rank: (reading) => rankEntries(reading, { evenShare: EVEN_SHARE, inTree: false }),
  boldness: { atCeiling: always(1), mild: 0.27, deep: 0.27 },
};

/** Maximum number of rulers that separate tables; more separate rows. Set by hand. */
const MOST_RULERS = 24;
const LEAST_DASHES = /-{3}/;
/** The number of rows below a table. */
const COUNT = new LinePattern(/^\(?\d{1,9} rows?(?: in set\b.*)?\)?$/);

/** Keeps the heads and row counts of all tables of a text, not only those of the first and the last. */
function protectFurtherTables({ view, inner }: Protectable, protect: Protect): void {
  const rulers: number[] = [];
  for (let i = inner.first; i < inner.end; i++) {
    if (isBlankLine(view, i)) continue;
    if (COUNT.fits(view, i, READ_CHARS)) protect(i, 'structure');
    const line = contentOf(view, i, READ_CHARS);
    if (LEAST_DASHES.test(line) && RULER.test(line)) rulers.push(i);
  }
  if (rulers.length > MOST_RULERS) return;
  for (const i of rulers) {
    protect(i, 'structure');
    if (i > inner.first && !isBlankLine(view, i - 1)) protect(i - 1, 'structure');
  }
}

/** Whether most lines have the same number of tabs, commas or bars, and more than one. */
export function isTable(seen: Shapes): boolean {
  return seen.table > seen.lines * 0.8;
}
