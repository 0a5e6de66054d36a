import type { Analysis } from './kind.ts';
import { RULES } from './protection.ts';

/** One in so many lines of structure may go with the fenced blocks that are worth least: two lines a block, a twentieth at most. */
const STRUCTURE_PER_BLOCK = 44;

/**
 * Keeps the fenced blocks of a document, but for the few whose going gains most: with them goes a twentieth of the
 * lines that carry its structure (headings and fences), and each goes as a whole or stays.
 *
 * @param gain - what the going of each line gains
 * @returns the rules of `analysis.keep` and those of the fences
 */
export function keepFences(
  { keep, units }: Pick<Analysis, 'keep' | 'units'>,
  gain: (line: number) => number,
): Uint8Array {
  const fence = RULES.indexOf('fence');
  const out = keep.slice();
  const blocks: { from: number; to: number; gain: number }[] = [];
  let structure = 0;
  for (let i = 0; i < keep.length; i++) {
    if (keep[i] !== 0) structure++;
    if (units.glued[i] !== 1) continue;
    const from = i - 1;
    let sum = 0;
    while (i + 1 < keep.length && units.glued[i + 1] === 1) i++;
    for (let k = from; k <= i; k++) {
      sum += gain(k);
      if (out[k] === 0) out[k] = fence;
    }
    structure += 2;
    blocks.push({ from, to: i, gain: sum });
  }
  blocks.sort((a, b) => b.gain - a.gain || a.from - b.from);
  for (const { from, to, gain: gained } of blocks.slice(0, Math.round(structure / STRUCTURE_PER_BLOCK))) {
    if (gained > 0) for (let k = from; k <= to; k++) out[k] = keep[k] ?? 0;
  }
  return out;
}
