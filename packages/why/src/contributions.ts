import { type Measure, valueAt, type WeightedMeasures } from 'mcp-pruner/engine/rank/measures.ts';

/** Effect of a feature on a region's score, compared with the text's average. */
interface Contribution {
  readonly name: string;
  readonly effect: number;
}

interface Span {
  readonly from: number;
  readonly to: number;
}

/** Maximum number of features named per region, and their minimum effect. Set by hand: enough to show the reason. */
const STRONGEST = 3;
const LEAST = 0.05;

/** Features with the strongest effect in each span of line indices. */
export function contributionsOf(
  groups: readonly WeightedMeasures[],
  spans: readonly Span[],
  n: number,
): Contribution[][] {
  const all = groups.map(({ measures, weights, factor }) => effectsOf(measures, weights, factor, spans, n));
  return spans.map((_, k) =>
    all
      .flatMap((effects) => effects[k] ?? [])
      .filter(({ effect }) => Math.abs(effect) >= LEAST)
      .sort((a, b) => Math.abs(b.effect) - Math.abs(a.effect))
      .slice(0, STRONGEST),
  );
}

/** Effect of each feature in each span, compared with the average of all lines. */
function effectsOf(
  measures: readonly Measure[],
  weights: WeightedMeasures['weights'],
  factor: number,
  spans: readonly Span[],
  n: number,
): Contribution[][] {
  const out = spans.map((): Contribution[] => []);
  for (const measure of measures) {
    const { name } = measure;
    const weight = weights[name] ?? 0;
    if (weight === 0) continue;
    let all = 0;
    for (let i = 0; i < n; i++) all += valueAt(measure, i);
    spans.forEach(({ from, to }, k) => {
      let sum = 0;
      for (let i = from; i <= to; i++) sum += valueAt(measure, i);
      out[k]?.push({ name, effect: factor * weight * (sum / (to - from + 1) - all / Math.max(1, n)) });
    });
  }
  return out;
}
