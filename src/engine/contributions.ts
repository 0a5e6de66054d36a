import type { Analysis } from './analysis.ts';
import { LEARNED } from './learned.ts';
import { measureLog } from './rank-log.ts';
import { measureLines, type TakeSignal } from './signals.ts';

/** How a measure moved a region's score against the average of the text. */
export interface Contribution {
  readonly name: string;
  readonly effect: number;
}

const STRONGEST = 3;
const LEAST = 0.05;

/** The strongest measures of each span of line indices, for the kinds that are ranked by a learned model. */
export function contributionsOf(
  { view, kind, units, templates, words, terms }: Analysis,
  spans: readonly { readonly from: number; readonly to: number }[],
): Contribution[][] {
  const out = spans.map((): Contribution[] => []);
  const family = kind.family;
  if (family !== 'code' && family !== 'docs' && family !== 'log') return out;
  const take: TakeSignal = (name, byLine) => {
    const weight = LEARNED[family][name] ?? 0;
    if (weight === 0) return;
    let all = 0;
    for (let i = 0; i < view.n; i++) all += byLine[i] ?? 0;
    spans.forEach(({ from, to }, k) => {
      let sum = 0;
      for (let i = from; i <= to; i++) sum += byLine[i] ?? 0;
      const effect = weight * (sum / (to - from + 1) - all / Math.max(1, view.n));
      if (Math.abs(effect) >= LEAST) out[k]?.push({ name, effect });
    });
  };
  if (family === 'log') measureLog(view, templates, words, terms, take);
  else measureLines(view, units, words, terms, take);
  return out.map((list) => list.sort((a, b) => Math.abs(b.effect) - Math.abs(a.effect)).slice(0, STRONGEST));
}
