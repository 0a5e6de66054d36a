import { rankHunks } from '../rank/lookup.ts';
import { LinePattern } from '../rules/matcher.ts';
import { isBlankLine, UnitBuilder, type Units, type View } from '../text/view.ts';
import { protectByContract } from './contract.ts';
import { always, type Kind } from './kind.ts';
import { keepBestMatches } from './protect.ts';

const HEADER = new LinePattern(
  /^(?:diff |index [0-9a-f]|--- |\+\+\+ |@@|(?:new|deleted|old) |rename |similarity |Binary |commit [0-9a-f]|Author:|Date:)/,
);
const OPENING = new LinePattern(/^(?:diff |@@)/);
/** Number of leading characters by which a diff line is recognised. Set by hand. */
const READ_CHARS = 80;
/** Longer hunks may be cut in part. In lines. Set by hand: about a screen. */
const LONGEST_HUNK = 60;

/** Unified diffs, including the output of `git log -p`. */
export const diff: Kind = {
  family: 'diff',
  sourceType: 'code',
  names: { diff: 'diff patch' },
  shapes: [
    { name: 'diff', pattern: /^(?:diff --git |--- \S|\+\+\+ \S|index [0-9a-f]{7,})/ },
    { name: 'hunks', pattern: /^@@ -\d/ },
  ],
  mentionsNames: true,
  looksLike: (seen) => (seen.hunks > 0 && seen.diff > 0 ? 1 : 0),
  units: hunks,
  protect(text, protect) {
    protectByContract(text, protect);
    const { view } = text;
    for (let i = 0; i < view.n; i++) {
      if (!isBlankLine(view, i) && HEADER.fits(view, i, READ_CHARS)) protect(i, 'diff-header');
    }
  },
  protectMatches: keepBestMatches,
  rank: (reading) => rankHunks(reading),
  boldness: { atCeiling: always(1), large: { size: 6_000, atCeiling: 1.4 }, mild: 0.27, deep: 0.27 },
};

/** Divides a diff into hunks, which are cut or kept as a whole unless they are long. */
function hunks(view: View): Units {
  const b = new UnitBuilder(view.n);
  for (let i = 0; i < view.n; ) {
    const unit = b.open(-1);
    let end = i + 1;
    while (end < view.n && (isBlankLine(view, end) || !OPENING.fits(view, end, READ_CHARS))) end++;
    b.unit.fill(unit, i, end);
    const isHunk = view.text.startsWith('@@', view.from[i]);
    if (isHunk && end - i > 2 && end - i <= LONGEST_HUNK) b.glued.fill(1, i + 2, end);
    i = end;
  }
  if (view.n === 0) b.open(-1);
  return b.done();
}
