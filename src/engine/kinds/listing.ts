import { EVEN_SHARE, rankEntries } from '../rank/lookup.ts';
import { largestOf } from '../rank/measures.ts';
import { LinePattern } from '../rules/matcher.ts';
import { COLON } from '../text/chars.ts';
import { evenUnits, isBlankLine, type View } from '../text/view.ts';
import { protectByContract } from './contract.ts';
import { always, type Kind, type Reading, RULES } from './kind.ts';

/** Matches the last line of `tree`. */
const TOTAL = new LinePattern(/^\d+ director/);
/** A single entry or folder. Its name is never interpreted as a failure. */
const ENTRY = new LinePattern(/^\S+$|^[d\-lbcps][rwxsStT-]{9}[.+@]?\s|^\s*[│├└|`+]/);
/** Maximum number of characters read per line. Set by hand: names are shorter. */
const READ_CHARS = 300;
/**
 * A folder stays if it, or one of its entries, has at least this match with the goal, relative to the best one. Set by
 * hand.
 */
const TOUCHED = 0.5;

/** File lists: `ls`, `find`, `tree`, `npm ls`. */
export const listing: Kind = {
  family: 'listing',
  hasCells: true,
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
    const { view, inner } = text;
    protectByContract(text, (i, rule) => {
      if (rule !== 'failure' || !ENTRY.fits(view, i, READ_CHARS)) protect(i, rule);
    });
    for (let i = inner.first; i < inner.end; i++) {
      if (!isBlankLine(view, i) && TOTAL.fits(view, i, READ_CHARS)) protect(i, 'structure');
    }
    protect(inner.first, 'edge');
    protect(inner.end - 1, 'edge');
  },
  rows: () => 'all',
  protectMatches: keepTouchedFolders,
  rank: (reading) => rankEntries(withFolders(reading), { evenShare: EVEN_SHARE, inTree: true }),
  boldness: { atCeiling: always(1), mild: 0.27, deep: 0.27 },
};

/**
 * Keeps a folder's line if the goal names the folder or one of its entries; otherwise the entry's location would be
 * lost.
 */
function keepTouchedFolders({ view, match: { raw } }: Reading, keep: Uint8Array): void {
  const best = largestOf(raw);
  if (best === 0) return;
  let folder = -1;
  for (let i = 0; i < view.n; i++) {
    if (isFolder(view, i)) folder = i;
    if (folder >= 0 && keep[folder] === 0 && (raw[i] ?? 0) >= TOUCHED * best) keep[folder] = RULES.indexOf('structure');
  }
}

/** Adds a folder's match to its entries, like in `find` output, where paths contain both. */
function withFolders(reading: Reading): Reading {
  const { view, match } = reading;
  const raw = match.raw.slice();
  let folder = 0;
  for (let i = 0; i < view.n; i++) {
    if (isFolder(view, i)) folder = raw[i] ?? 0;
    else if (!isBlankLine(view, i)) raw[i] = Math.max(raw[i] ?? 0, folder);
  }
  return { ...reading, match: { ...match, raw } };
}

/** Whether a line is a folder heading of `ls -R`: not indented, ending with a colon, followed by entries. */
function isFolder({ codes, from, firstNonBlank, to }: View, i: number): boolean {
  const start = from[i] ?? 0;
  const end = to[i] ?? 0;
  return end - start > 1 && firstNonBlank[i] === start && codes[end - 1] === COLON;
}
