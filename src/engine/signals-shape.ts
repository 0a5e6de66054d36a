import { columnOf } from './relevance.ts';
import type { TakeSignal } from './signals.ts';
import { DECLARED, type Units } from './units.ts';
import { contentOf, isBlankLine, type View } from './view.ts';
import type { Vocabulary } from './vocabulary.ts';

const COMMENT = /^\s*(?:#(?!\s*(?:include|define|if|endif|else|ifdef))|\/\/|\/\*|\*|"""|'''|--|<!--)/;
const CLOSER = /^[\s)\]};,]*$|^\s*end$/;
const HEADING = /^#{1,6}\s|^[=~^-]{4,}$/;
const LIST = /^\s*(?:[-*+]|\d+\.)\s/;
const RARE = 8;

/** Measures what a line is in itself, whatever the goal. */
export function measureShapes(view: View, units: Units, words: Vocabulary, take: TakeSignal): void {
  const n = view.n;
  const flags = { blank: new Uint8Array(n), comment: new Uint8Array(n), closer: new Uint8Array(n) };
  const declares = new Uint8Array(n);
  const imports = new Uint8Array(n);
  const heading = new Uint8Array(n);
  const list = new Uint8Array(n);
  const depth = new Float64Array(n);
  const length = new Float64Array(n);
  let start = 0;
  for (let i = 0; i < n; i++) {
    if (i > 0 && units.unit[i] !== units.unit[i - 1]) start = i;
    depth[i] = Math.log1p(i - start) / 6;
    length[i] = Math.log1p((view.to[i] ?? 0) - (view.ink[i] ?? 0)) / 6;
    if (isBlankLine(view, i)) {
      flags.blank[i] = 1;
      continue;
    }
    const line = contentOf(view, i, 200);
    if (COMMENT.test(line)) flags.comment[i] = 1;
    else if (CLOSER.test(line)) flags.closer[i] = 1;
    const declared = units.declared[i] ?? 0;
    if (declared === DECLARED.import) imports[i] = 1;
    else if (declared !== DECLARED.none) declares[i] = 1;
    if (HEADING.test(line)) heading[i] = 1;
    if (LIST.test(line)) list[i] = 1;
  }
  take('blank', flags.blank);
  take('comment', flags.comment);
  take('closer', flags.closer);
  take('declares', declares);
  take('imports', imports);
  take('heading', heading);
  take('list', list);
  take('length', length);
  take('depthInUnit', depth);
  take(
    'position',
    columnOf(n, (i) => i / n),
  );
  take('rarity', rarity(view, words));
}

/** Mean rarity of a line's words within the text. */
function rarity(view: View, words: Vocabulary): Float64Array {
  const rare = new Float64Array(words.size);
  for (let id = 0; id < words.size; id++) rare[id] = Math.log(1 + view.n / ((words.lineCount[id] ?? 0) + 0.5)) / RARE;
  return columnOf(view.n, (i) => {
    const from = words.first[i] ?? 0;
    const to = words.first[i + 1] ?? 0;
    let sum = 0;
    for (let k = from; k < to; k++) sum += rare[words.ids[k] ?? 0] ?? 0;
    return to > from ? sum / (to - from) : 0;
  });
}
