import { explainPlan } from '@mcp-pruner/why/explain.ts';
import { ADVERSARIAL } from '../../bench/engine-speed/texts.ts';
import { planPrune } from '../../src/engine/plan.ts';
import { sampleLines } from '../../src/engine/sample-lines.ts';
import type { Plan, PruneInput } from '../../src/engine/types.ts';
import { digest, type GoldenResult } from './digest.ts';
import { type GoldenText, goldenTexts } from './texts.ts';

/** How a text is asked about; each gives a plan of its own. */
const OPTIONS: Readonly<Record<string, (given: GoldenText) => PruneInput>> = {
  'as told .9': (given) => input(given, given.goal, 0.9),
  'no goal .85': (given) => input(given, '', 0.85),
  'read .9': (given) => input({ ...given, hints: { ...given.hints, origin: 'read' } }, given.goal, 0.9),
  'unknown .5': (given) => input({ ...given, hints: { origin: 'unknown' } }, given.goal, 0.5),
  'typed .7': (given) => ({
    ...input({ ...given, hints: { origin: 'unknown' } }, given.goal, 0.7),
    sourceType: given.sourceType,
  }),
  'opinions .9': (given) => ({
    ...input(given, `fix ${given.goal}\n\nand the shipment`, 0.9),
    externalScores: opinionsOf(given),
  }),
};

function input({ text, hints }: GoldenText, goal: string, maxPruneRatio: number): PruneInput {
  return { text, goal, hints, limits: { maxPruneRatio, minKeepLines: 5 } };
}

/** What another backend might say of each third line. */
function opinionsOf({ text }: GoldenText): Float64Array {
  return Float64Array.from(text.split('\n'), (_, i) => (i % 3 === 0 ? ((i * 7) % 11) / 10 : Number.NaN));
}

function planResult(name: string, plan: Plan): GoldenResult {
  const gone = plan.cuts.reduce((sum, { startLine, endLine }) => sum + endLine - startLine + 1, 0);
  return {
    name,
    about: `${plan.kind}, ${gone} of ${plan.lineCount} lines in ${plan.cuts.length} cuts`,
    hash: digest(plan),
  };
}

/** Plans of all texts, the explanations of a few, and the lines that another backend would be asked about. */
export function goldenPlans(): GoldenResult[] {
  return goldenTexts().flatMap((given) => [
    ...optionsFor(given).map(([option, of]) => planResult(`${given.name} · ${option}`, planPrune(of(given)))),
    ...(given.text.length > 60_000 || given.name.startsWith('made') === false ? [] : [explained(given)]),
  ]);
}

/** What is made to hurt is asked about less: it is there for what a scan does at odd lines. */
function optionsFor({ name }: GoldenText): [string, (given: GoldenText) => PruneInput][] {
  const all = Object.entries(OPTIONS);
  return ADVERSARIAL.some((sample) => sample.name === name) ? all.slice(-3, -1) : all;
}

function explained(given: GoldenText): GoldenResult {
  const { regions, terms, threshold, budget } = explainPlan(input(given, given.goal, 0.9));
  const asked = sampleLines(input(given, given.goal, 0.9), 20);
  const hash = digest(rounded({ regions, terms, threshold, budget, asked }));
  return { name: `${given.name} · explained`, about: `${regions.length} regions, ${terms.length} terms`, hash };
}

/** The same with numbers to nine digits: sums may be taken in another order. */
function rounded(value: unknown): unknown {
  if (typeof value === 'number') return Number(value.toPrecision(9));
  if (Array.isArray(value)) return value.map(rounded);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, rounded(inner)]));
}
