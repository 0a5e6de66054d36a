import type { EvalCase } from '@mcp-pruner/lab/cases.ts';
import { measureLog } from '../../src/engine/kinds/log/rank.ts';
import { measureLines } from '../../src/engine/rank/features.ts';
import { valueAt } from '../../src/engine/rank/measures.ts';
import { analyse } from '../../src/engine/reading.ts';
import type { Model } from './model.ts';

/** A case as numbers. */
export interface Observation {
  readonly lines: number;
  /** By group of the model and weight in it: the measure of each line. */
  readonly columns: readonly (readonly Float64Array[])[];
  /** By group and circumstance: how far it holds for the text; 1 for `always`. */
  readonly circumstances: readonly (readonly number[])[];
  /** Indexes of the needed lines. */
  readonly needed: readonly number[];
}

/** Longer texts cost more than they teach. */
const MOST_LINES = 2_000;

/** Measures a case for a model, or returns `null` where its text is of another kind or is too long. */
export function observe(item: EvalCase, family: string, model: Model): Observation | null {
  const { text, goal, path } = item;
  const analysis = analyse({ text, goal, hints: { origin: 'read', ...(path !== '' && { path }) } });
  if (analysis === null || analysis.kind.family !== family || analysis.view.n > MOST_LINES) return null;
  const needed = item.needed.map((line) => line - 1).filter((i) => i < analysis.view.n);
  if (needed.length === 0) return null;
  const { n } = analysis.view;
  const isLog = family === 'log';
  const { measures, circumstances } = isLog
    ? { measures: measureLog(analysis), circumstances: {} as Readonly<Record<string, number>> }
    : measureLines(analysis);
  const byName = new Map(measures.map((measure) => [measure.name, measure]));
  const columns = model.map(({ weights }) =>
    Object.keys(weights).map((name) => {
      const measure = byName.get(name);
      return Float64Array.from({ length: n }, (_, i) => (measure === undefined ? 0 : valueAt(measure, i)));
    }),
  );
  const held: Readonly<Record<string, number>> = { ...circumstances, always: 1 };
  return {
    lines: n,
    columns,
    circumstances: model.map(({ trust }) => Object.keys(trust ?? {}).map((name) => held[name] ?? 0)),
    needed,
  };
}
