import type { Analysis } from './analysis.ts';
import { LEARNED, LEARNED_LOG } from './learned.ts';
import { measureLog } from './rank-log.ts';
import { trustIn } from './rank-prose.ts';
import { type Measure, measureLines } from './signals.ts';

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

function ofLog({ view, templates, words, terms }: Analysis, spans: readonly Span[]): Contribution[][] {
  const out = spans.map((): Contribution[] => []);
  measureLog(view, templates, words, terms, (name, byLine) => {
    addEffects(out, spans, view.n, name, LEARNED_LOG[name] ?? 0, byLine);
  });
  return out;
}

function ofProse(analysis: Analysis, family: 'code' | 'docs', spans: readonly Span[]): Contribution[][] {
  const { n } = analysis.view;
  const { matches, nature, trustInMatches, trustInNature } = LEARNED[family];
  const ofMatches = spans.map((): Contribution[] => []);
  const ofNature = spans.map((): Contribution[] => []);
  const circumstances = measureLines(analysis, (name, byLine) => {
    const weight = matches[name];
    if (weight === undefined) addEffects(ofNature, spans, n, name, nature[name] ?? 0, byLine);
    else addEffects(ofMatches, spans, n, name, weight, byLine);
  });
  const scaled = (list: Contribution[] | undefined, factor: number): Contribution[] =>
    (list ?? []).map(({ name, effect }) => ({ name, effect: effect * factor }));
  const inMatches = trustIn(trustInMatches, circumstances);
  const inNature = trustIn(trustInNature, circumstances);
  return spans.map((_, k) => [...scaled(ofMatches[k], inMatches), ...scaled(ofNature[k], inNature)]);
}

/** Adds to each span what a measure says of it against the average of all lines. */
function addEffects(
  out: readonly Contribution[][],
  spans: readonly Span[],
  n: number,
  name: string,
  weight: number,
  byLine: Measure,
): void {
  if (weight === 0) return;
  let all = 0;
  for (let i = 0; i < n; i++) all += byLine[i] ?? 0;
  spans.forEach(({ from, to }, k) => {
    let sum = 0;
    for (let i = from; i <= to; i++) sum += byLine[i] ?? 0;
    out[k]?.push({ name, effect: weight * (sum / (to - from + 1) - all / Math.max(1, n)) });
  });
}
