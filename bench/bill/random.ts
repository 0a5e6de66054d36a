import { createHash } from 'node:crypto';
import { parseMarker } from '../../src/engine/text/marker.ts';
import type { SentTexts } from './sent-texts.ts';

/**
 * The control: of each text that was cut, as many runs of the same lengths go as the pruner took, at places drawn by chance.
 * The same recording always draws the same places. A result that was put aside as a whole is gone in both.
 */
export function cutAtRandom(name: string, sent: SentTexts): SentTexts {
  return sent.mapCuts((i, after) => {
    const before = sent.originalOf(i);
    if (before === after) return after;
    return withoutRuns(before.split('\n'), runLengths(after), drawOf(`${name} ${i}`));
  });
}

function runLengths(text: string): number[] {
  return text.split('\n').flatMap((line) => {
    const marker = parseMarker(line.trim());
    return marker === null ? [] : marker.endLine - marker.startLine + 1;
  });
}

/** Numbers from 0 to 1, the same for the same seed. */
export function drawOf(seed: string): () => number {
  let state = createHash('sha256').update(seed).digest().readUInt32LE();
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** Parts what stays into as many pieces by chance, and takes the runs out between them. */
function withoutRuns(lines: readonly string[], runs: readonly number[], draw: () => number): string {
  const order = runs
    .map((length) => ({ length, key: draw() }))
    .sort((a, b) => a.key - b.key)
    .map(({ length }) => length);
  const gone = runs.reduce((sum, length) => sum + length, 0);
  const stays = Math.max(0, lines.length - gone);
  const places = order.map(() => Math.floor(draw() * (stays + 1))).sort((a, b) => a - b);
  const kept: string[] = [];
  let at = 0;
  let taken = 0;
  for (const [k, place] of places.entries()) {
    kept.push(...lines.slice(at, at + place - taken));
    at += place - taken + (order[k] ?? 0);
    taken = place;
  }
  return [...kept, ...lines.slice(at)].join('\n');
}
