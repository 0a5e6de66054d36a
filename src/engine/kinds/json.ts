import { EVEN_SHARE, rankEntries } from '../rank/lookup.ts';
import type { Units, View } from '../text/view.ts';
import { protectByContract } from './contract.ts';
import { findElements } from './json-elements.ts';
import { type Analysis, always, type Kind, READ_SIZE, RULES, type Span } from './kind.ts';
import { protectFailures } from './log/protect.ts';

export const json: Kind = {
  family: 'json',
  sourceType: 'docs',
  names: { json: 'json ipynb geojson' },
  shapes: [
    {
      name: 'json',
      pattern:
        /^\s*(?:"(?:[^"\\]|\\.){0,200}"\s*:|[[\]{}],?$|"(?:[^"\\]|\\.){0,300}",?$|-?\d[\d.eE+-]*,?$|(?:true|false|null),?$)/,
    },
  ],
  looksLike: (seen) => (seen.json > seen.lines * 0.9 ? 0.8 : 0),
  units: elements,
  protect(text, protect) {
    protectByContract(text, protect);
    protectFailures(text, protect);
    const { frame } = findElements(text.view);
    for (let i = text.inner.first; i < text.inner.end; i++) if (frame[i]) protect(i, 'structure');
  },
  rows: () => 'keys',
  rank: (reading) => rankEntries(reading, { evenShare: EVEN_SHARE, inTree: true }),
  extend: withEmptyElements,
  boldness: { atCeiling: { ...always(1.4), read: 1 }, readSize: READ_SIZE, mild: 0.27, deep: 0.27 },
};

/** Cuts the brackets of an element as well if everything between them is cut: an element goes or stays whole. */
function withEmptyElements({ view, keep }: Analysis, runs: readonly Span[], spare: number): readonly Span[] {
  const cut = new Uint8Array(view.n);
  for (const { from, to } of runs) cut.fill(1, from, to + 1);
  const isFrame = (line: number): boolean => keep[line] === 0 || keep[line] === STRUCTURE;
  const behind = new Int32Array(view.n);
  let left = spare;
  for (const { from, to } of findElements(view).divided.toReversed()) {
    if (left < 2 || to - from < 2 || cut[from] === 1 || cut[to] === 1 || !isFrame(from) || !isFrame(to)) continue;
    let at = from + 1;
    // inner elements are passed at once, so that each line is looked at once
    while (at < to && cut[at] === 1) at = (behind[at] ?? 0) || at + 1;
    if (at !== to) continue;
    behind[from] = to + 1;
    cut[from] = 1;
    cut[to] = 1;
    left -= 2;
  }
  return left === spare ? runs : spansOf(cut);
}

const STRUCTURE = RULES.indexOf('structure');

function spansOf(flags: Uint8Array): Span[] {
  const spans: Span[] = [];
  for (let from = flags.indexOf(1); from >= 0; ) {
    const end = flags.indexOf(0, from);
    const to = end < 0 ? flags.length : end;
    spans.push({ from, to: to - 1 });
    from = flags.indexOf(1, to);
  }
  return spans;
}

/** Divides JSON into elements, which are cut or kept as a whole. */
function elements(view: View): Units {
  const { element, count, frame } = findElements(view);
  const glued = new Uint8Array(view.n);
  for (let i = 1; i < view.n; i++) {
    if (element[i] === element[i - 1] && frame[i] === 0 && frame[i - 1] === 0) glued[i] = 1;
  }
  const parent = new Int32Array(count).fill(-1);
  return { unit: element, count, parent, glued, head: new Uint8Array(view.n), declared: new Uint8Array(view.n) };
}
