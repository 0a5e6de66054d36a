import { rankEntries } from '../rank/lookup.ts';
import { contentOf, evenUnits, isBlankLine, type View } from '../text/view.ts';
import { protectByContract } from './contract.ts';
import { always, type Kind, type Protect, type Protectable } from './kind.ts';
import { keepBestMatches } from './protect.ts';

/** Share of the value that is spread evenly over the hits. Set by hand. */
const MOSTLY_EVEN = 0.8;
const READ_CHARS = 300;

const SEARCH_COMMAND = /\b(?:grep|rg|ag|ack)\b/;

/** Hits of a search: lines of many files, each after its path. */
export const search: Kind = {
  family: 'search',
  hasHits: true,
  sourceType: 'code',
  names: { grep: '' },
  shapes: [
    { name: 'grep', pattern: /^(?:[\w.@~+-]*\/)?[\w.@~+/-]+[:-]\d+[:-]|^[\w.@~+-]*\/[\w.@~+/-]+:(?!\/\/)|^--$/ },
  ],
  mentionsNames: true,
  looksLike(seen, hints) {
    if (SEARCH_COMMAND.test(hints?.command ?? '') && seen.grep > seen.lines * 0.4) return 0.9;
    return seen.grep > seen.lines * 0.8 && seen.compiler < seen.lines * 0.3 ? 0.6 : 0;
  },
  units: (view) => evenUnits(view.n, 1),
  protect(text, protect) {
    protectByContract(text, protect);
    protectFirstHits(text, protect);
  },
  // programs also print rows that look like hits
  rows: (_, hints) => (hints?.origin === 'command' && !SEARCH_COMMAND.test(hints.command ?? '') ? 'all' : 'none'),
  protectMatches: keepBestMatches,
  // a search may look for something that the goal does not mention, so most of the value is spread evenly
  rank: (reading) => rankEntries(reading, { evenShare: MOSTLY_EVEN, inTree: false }),
  // any hit may be the one that was looked for
  boldness: { atCeiling: always(0.95), large: { size: 5_000, atCeiling: 2 }, mild: 0.27, deep: 0.27 },
  // all hits match the question: of few hits none can be ruled out
  leastAskedChars: 8_000,
};

/** The part before `:12:`, else before `-12-`, else before a colon. */
const HIT_FILE = /^((?:[A-Za-z]:)?[^:\n]+):\d+:|^((?:[A-Za-z]:)?[^:\n]+?)-\d+-|^((?:[A-Za-z]:)?[^:\n]+):/;
/** Prefix of a hit without a path (one file was searched, or its name is above): `12:`, `12-`, `  Line 12:`, `L12:`. */
const NUMBER_ALONE = /^\s*(?:L|Line )?\d+(?::|-(?!\d))/;

/** If a larger share of rows begins with a distinct name, the text is a table with one state per name. Set by hand. */
const MOST_FIRST = 0.9;

function protectFirstHits({ view, inner, hints }: Protectable, protect: Protect): void {
  const first: number[] = [];
  let previous = '';
  let rows = 0;
  for (let i = inner.first; i < inner.end; i++) {
    if (isBlankLine(view, i)) continue;
    const file = fileOfHit(view, i);
    if (file !== previous) first.push(i);
    previous = file;
    rows++;
  }
  const mayBeSearch = hints?.origin !== 'command' || SEARCH_COMMAND.test(hints.command ?? '');
  if (mayBeSearch || first.length <= rows * MOST_FIRST) for (const i of first) protect(i, 'file-spread');
}

function fileOfHit(view: View, i: number): string {
  const hit = contentOf(view, i, READ_CHARS);
  if (NUMBER_ALONE.test(hit)) return '';
  const match = HIT_FILE.exec(hit);
  return match?.[1] ?? match?.[2] ?? match?.[3] ?? '';
}
