import { EVEN_SHARE, rankEntries } from '../rank/lookup.ts';
import { contentOf, evenUnits } from '../text/view.ts';
import { protectByContract } from './contract.ts';
import { always, type Kind, type Shapes } from './kind.ts';

/** Number of leading lines searched for the separator between head and rows. Set by hand. */
const HEAD_LINES = 4;
const READ_CHARS = 200;

const RULER = /^\s*\|?[\s:|+-]+$/;

/** Rows of columns, separated by characters or aligned by blanks. */
export const table: Kind = {
  family: 'table',
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
  },
  rows: () => 'all',
  rank: (reading) => rankEntries(reading, { evenShare: EVEN_SHARE, inTree: false }),
  boldness: { atCeiling: always(1), mild: 0.27, deep: 0.27 },
};

/** Whether most lines have the same number of tabs, commas or bars, and more than one. */
export function isTable(seen: Shapes): boolean {
  return seen.table > seen.lines * 0.8;
}
