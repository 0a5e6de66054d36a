/**
 * Fits the weights of the ranking to labelled lines: node bench/run.mjs fit <repository or cases.jsonl>… [--kind code]
 * [--cases 300] [--epochs 60] [--l2 0.002] [--from zero|present] [--seed 1]
 *
 * A repository gives cases as `eval --git` draws them (the lines that a commit changed, given its message); a file holds
 * cases as `ruler` reads them. Two thirds of the cases are fitted to, the rest judge: printed are the mean loss of a needed
 * line (the negative logarithm of its share) under no ranking, under the present weights and under the fitted ones, and
 * the fitted weights beside the present. Weights are replaced by hand, and only where `ruler` shows that cuts get better.
 */
import { createReadStream, statSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import type { EvalCase } from '@mcp-pruner/lab/cases.ts';
import { SampleReport, sampleCases } from '@mcp-pruner/lab/cases.ts';
import { openRepository } from '@mcp-pruner/lab/git.ts';
import { CODE_WEIGHTS, DOCS_WEIGHTS, LOG_WEIGHTS } from '../../src/engine/rank/weights.ts';
import { fit, lossOf, type Model } from './model.ts';
import { type Observation, observe } from './observe.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    kind: { type: 'string', default: 'code' },
    cases: { type: 'string', default: '300' },
    epochs: { type: 'string', default: '60' },
    l2: { type: 'string', default: '0.002' },
    from: { type: 'string', default: 'zero' },
    seed: { type: 'string', default: '1' },
  },
});

const PRESENT: Readonly<Record<string, Model>> = {
  code: [
    { weights: CODE_WEIGHTS.matches, trust: CODE_WEIGHTS.trustInMatches },
    { weights: CODE_WEIGHTS.nature, trust: CODE_WEIGHTS.trustInNature },
  ],
  docs: [
    { weights: DOCS_WEIGHTS.matches, trust: DOCS_WEIGHTS.trustInMatches },
    { weights: DOCS_WEIGHTS.nature, trust: DOCS_WEIGHTS.trustInNature },
  ],
  log: [{ weights: LOG_WEIGHTS, trust: null }],
};

async function* casesIn(place: string): AsyncGenerator<EvalCase> {
  if (statSync(place).isDirectory()) {
    const options = { cases: Number(values.cases), seed: Number(values.seed), maxFiles: 20 };
    yield* sampleCases(await openRepository(place), options, new SampleReport());
    return;
  }
  for await (const line of createInterface({ input: createReadStream(place) })) {
    const { id, family, path = '', source_type, goal_hint, text, gold } = JSON.parse(line);
    yield { id, group: family, path, sourceType: source_type, goal: goal_hint, text, needed: gold };
  }
}

const out = (line: string): boolean => process.stdout.write(`${line}\n`);
const present = PRESENT[values.kind];
if (present === undefined || positionals.length === 0) {
  out(`usage: fit <repository or cases.jsonl>… --kind ${Object.keys(PRESENT).join('|')}`);
  process.exit(2);
}
const observations: Observation[] = [];
for (const place of positionals) {
  for await (const item of casesIn(place)) {
    const observation = observe(item, values.kind, present);
    if (observation !== null) observations.push(observation);
  }
}
const fitted = observations.filter((_, k) => k % 3 !== 2);
const held = observations.filter((_, k) => k % 3 === 2);
if (held.length === 0) {
  out(`${observations.length} cases of kind ${values.kind} are too few to fit to`);
  process.exit(1);
}
const zero: Model = present.map(({ weights, trust }) => ({
  weights: Object.fromEntries(Object.keys(weights).map((name) => [name, 0])),
  trust: trust && Object.fromEntries(Object.keys(trust).map((name) => [name, 0])),
}));
const start = values.from === 'present' ? present : zero;
const model = fit(start, fitted, { epochs: Number(values.epochs), l2: Number(values.l2) });
out(`${fitted.length} cases fitted, ${held.length} held out; loss of a needed line:  fitted on   held out`);
for (const [name, one] of Object.entries({ 'no ranking': zero, 'present weights': present, 'fitted weights': model })) {
  out(`${name.padEnd(24)} ${lossOf(one, fitted).toFixed(4).padStart(10)} ${lossOf(one, held).toFixed(4).padStart(10)}`);
}
for (const [g, { weights, trust }] of model.entries()) {
  for (const [part, of, was] of [
    ['weights', weights, present[g]?.weights],
    ['trust', trust, present[g]?.trust],
  ] as const) {
    for (const [name, value] of Object.entries(of ?? {})) {
      out(
        `${String(g)} ${part.padEnd(8)} ${name.padEnd(12)} ${value.toFixed(2).padStart(7)}  now ${was?.[name]?.toFixed(2) ?? ''}`,
      );
    }
  }
}
