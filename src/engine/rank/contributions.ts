import { measureLog } from '../kinds/log/rank.ts';
import type { Analysis } from '../reading.ts';
import { measureLines } from './features.ts';
import { type Measure, valueAt } from './measures.ts';
import { trustIn } from './prose.ts';
import { LEARNED, LEARNED_LOG } from './weights.ts';

/** How a measure moved a region's score against the average of the text. */
export interface Contribution {
  readonly name: string;
  readonly effect: number;
}

interface Span {
  readonly from: number;
  readonly to: number;
}

const STRONGEST = 3;
const LEAST = 0.05;

/** The strongest measures of each span of line indices, for the kinds that are ranked by a learned model. */
export function contributionsOf(analysis: Analysis, spans: readonly Span[]): Contribution[][] {
  const { family } = analysis.kind;
  const all: Contribution[][] =
    family === 'log'
      ? ofLog(analysis, spans)
      : family === 'code' || family === 'docs'
        ? ofProse(analysis, family, spans)
        : [];
  return spans.map((_, k) =>
    (all[k] ?? [])
      .filter(({ effect }) => Math.abs(effect) >= LEAST)
      .sort((a, b) => Math.abs(b.effect) - Math.abs(a.effect))
      .slice(0, STRONGEST),
  );
}

function ofLog(analysis: Analysis, spans: readonly Span[]): Contribution[][] {
  return effectsOf(measureLog(analysis), LEARNED_LOG, spans, analysis.view.n);
}

function ofProse(analysis: Analysis, family: 'code' | 'docs', spans: readonly Span[]): Contribution[][] {
  const { n } = analysis.view;
  const { matches, nature, trustInMatches, trustInNature } = LEARNED[family];
  const { measures, circumstances } = measureLines(analysis);
  const ofMatches = effectsOf(measures, matches, spans, n);
  const ofNature = effectsOf(measures, nature, spans, n);
  const scaled = (list: Contribution[] | undefined, factor: number): Contribution[] =>
    (list ?? []).map(({ name, effect }) => ({ name, effect: effect * factor }));
  const inMatches = trustIn(trustInMatches, circumstances);
  const inNature = trustIn(trustInNature, circumstances);
  return spans.map((_, k) => [...scaled(ofMatches[k], inMatches), ...scaled(ofNature[k], inNature)]);
}

/** What each measure says of each span against the average of all lines. */
function effectsOf(
  measures: readonly Measure[],
  weights: Readonly<Record<string, number>>,
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
      out[k]?.push({ name, effect: weight * (sum / (to - from + 1) - all / Math.max(1, n)) });
    });
  }
  return out;
}
