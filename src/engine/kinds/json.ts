import { EVEN_SHARE, rankEntries } from '../rank/lookup.ts';
import type { Units, View } from '../text/view.ts';
import { protectByContract } from './contract.ts';
import { findElements } from './json-elements.ts';
import { always, type Kind, READ_SIZE } from './kind.ts';
import { protectFailures } from './log/protect.ts';

/** Pretty-printed JSON. */
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
  boldness: { atCeiling: { ...always(1.4), read: 1 }, readSize: READ_SIZE, mild: 0.27, deep: 0.27 },
};

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
