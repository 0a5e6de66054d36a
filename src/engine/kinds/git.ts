import { EVEN_SHARE, rankEntries } from '../rank/lookup.ts';
import { LinePattern } from '../rules/matcher.ts';
import { evenUnits, isBlankLine } from '../text/view.ts';
import { always, type Kind } from './kind.ts';

/** Git commands that report the state of a work tree, or the effect on commits. */
const COMMAND =
  /\bgit\s(?:\s*-\S{1,100}(?:\s[^-\s]\S{0,200})?\s)?\s*(?:status|merge|push|pull|fetch|rebase|cherry-pick|revert|am|stash|checkout|switch|commit)\b/;
/** A file or reference in a report. All other lines are headings, hints and results. */
const ENTRY = new LinePattern(
  /^(?:\t(?:modified|new file|deleted|renamed|copied|typechange):|\t(?!both |added by |deleted by )\S|Auto-merging |Removing |Applying: |(?:[MADRCT ][MADRCT ]|\?\?|!!) \S| {3}[0-9a-f]{7,40}\.\.[0-9a-f]{7,40} | [*=] \[| (?:create|delete) mode | rename | \S.{0,300}\s\|\s+(?:\d|Bin))/,
);
/** Lines that only such a report contains. */
const REPORT =
  /^(?:On branch |HEAD detached |Your branch |Changes (?:not staged|to be committed)|Untracked files:|Unmerged paths:| {2}\(use "git |\t(?:modified|new file|deleted|renamed|both modified): |Auto-merging |CONFLICT \(|hint: | ! \[|To \S+(?:\.git|:\S+)$|(?:[MADRCU ][MADRCU]|[MADRCU] |\?\?) \S+$)/;
const READ_CHARS = 400;
/** Maximum number of headings, hints and results to keep. Set by hand: a report has only a few. */
const MOST_HEADINGS = 200;

/** Reports of `git status`, `merge`, `push`, `rebase` and the like: entries, headings, hints and results. */
export const git: Kind = {
  family: 'listing',
  hasCells: true,
  sourceType: 'logs',
  names: { git: '' },
  shapes: [{ name: 'git', pattern: REPORT }],
  mentionsNames: true,
  looksLike(seen, hints) {
    if (seen.diff + seen.hunks > 0 || seen.git === 0) return 0;
    if (COMMAND.test(hints?.command ?? '') && seen.testing + seen.stamped === 0) return 0.95;
    return seen.git > seen.lines * 0.6 ? 0.65 : 0;
  },
  units: (view) => evenUnits(view.n, 1),
  protect({ view, inner }, protect) {
    let left = MOST_HEADINGS;
    for (let i = inner.first; i < inner.end && left > 0; i++) {
      if (isBlankLine(view, i) || ENTRY.fits(view, i, READ_CHARS)) continue;
      protect(i, 'heading');
      left--;
    }
    protect(inner.first, 'edge');
    protect(inner.end - 1, 'edge');
  },
  rows: () => 'all',
  rank: (reading) => rankEntries(reading, { evenShare: EVEN_SHARE, inTree: false }),
  // names of files and references resemble each other
  boldness: { atCeiling: always(1.5), mild: 0.27, deep: 0.27 },
};
