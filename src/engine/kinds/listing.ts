import { rankEntries } from '../rank/lookup.ts';
import { LinePattern } from '../rules/matcher.ts';
import { evenUnits } from '../text/units.ts';
import { isBlankLine } from '../text/view.ts';
import { protectByContract } from './contract.ts';
import { always, type Kind } from './kind.ts';

const FOLDER_OR_TOTAL = new LinePattern(/^[^\s].*:$|^total \d|^\d+ director/);
const READ_CHARS = 300;

/** Names of files: `ls`, `find`, `tree`, `npm ls`. */
export const listing: Kind = {
  family: 'listing',
  sourceType: 'logs',
  names: { listing: '' },
  shapes: [
    {
      name: 'listing',
      pattern:
        /^[d\-lbcps][rwxsStT-]{9}[.+@]?\s|^total \d+$|^(?:\.{0,2}\/)?[\w.@+-]+(?:\/[\w.@+ -]+)+\/?$|^(?:[│|] {1,3}| {4})*[├└|`+][─-]{1,2} ?\S|^\.?\/?[\w./@+-]+:$/,
    },
  ],
  looksLike: (seen) => (seen.listing > seen.lines * 0.8 ? 0.5 : 0),
  units: (view) => evenUnits(view.n, 1),
  protect(text, protect) {
    protectByContract(text, protect);
    const { view, inner } = text;
    for (let i = inner.first; i < inner.end; i++) {
      if (!isBlankLine(view, i) && FOLDER_OR_TOTAL.fits(view, i, READ_CHARS)) protect(i, 'structure');
    }
    protect(inner.first, 'edge');
    protect(inner.end - 1, 'edge');
  },
  rank: (reading) => rankEntries(reading, { evenShare: 0.3, inTree: true }),
  boldness: { atCeiling: always(1), mild: 0.27, deep: 0.27 },
};
