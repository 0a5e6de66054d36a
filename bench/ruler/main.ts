/**
 * The quality of the engine on ready-made cases, in process: node bench/run.mjs ruler <cases.jsonl> [--quick] [--min-keep 10]
 * [--family code] [--origin unknown] [--with-path] [--baselines-only] [--worst 10] [--way-back tool|shell] [--short-markers]
 *
 * `--way-back` measures what the words cost that the proxy adds to the first marker of a text: its source, and how to get
 * lines back. `prune_text` adds none. With `--short-markers` all other markers are short, as the proxy writes them.
 *
 * A case is one line of JSON: {id, family, source_type, goal_hint, text, gold: [line numbers], path?}.
 */
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import type { EvalCase } from '@mcp-pruner/lab/cases.ts';
import { evaluateCase, newTotals, PRUNER } from '@mcp-pruner/lab/evaluate.ts';
import { mean } from '@mcp-pruner/lab/score.ts';
import { intervals, summarise } from '@mcp-pruner/lab/summary.ts';
import { addRecoveryHint, type RecoveryHint } from '../../src/core/decide/decision.ts';
import { planPrune } from '../../src/engine/plan.ts';
import { estimateTokens } from '../../src/engine/text/tokens.ts';
import type { Cut, Origin, Plan, PruneInput, SourceType } from '../../src/engine/types.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: 'boolean', default: false },
    'min-keep': { type: 'string', default: '10' },
    family: { type: 'string' },
    origin: { type: 'string', default: 'unknown' },
    'with-path': { type: 'boolean', default: false },
    'baselines-only': { type: 'boolean', default: false },
    ratios: { type: 'string', default: '0.5,0.7,0.85' },
    worst: { type: 'string', default: '0' },
    'way-back': { type: 'string', default: '' },
    'short-markers': { type: 'boolean', default: false },
  },
});

interface RulerCase {
  readonly id: string;
  readonly family: SourceType;
  readonly source_type: SourceType;
  readonly goal_hint: string;
  readonly text: string;
  readonly gold: readonly number[];
  readonly path?: string;
}

const ratios = values.ratios.split(',').map(Number);
const whole = (): Plan => ({ sourceType: 'code', kind: '', lineCount: 0, cuts: [], warnings: [] });
const recoveryHint = values['way-back'];
if (!['', 'tool', 'shell'].includes(recoveryHint)) throw new Error('--way-back is tool or shell');
const words = { texts: 0, tokens: 0 };
const reasonTokens = ([first]: readonly Cut[]): number => estimateTokens(first?.reason ?? '');
const withHint = (input: PruneInput): Plan => {
  const plan = planPrune(input);
  const cuts = addRecoveryHint(plan.cuts, { way: recoveryHint as RecoveryHint });
  if (cuts.length > 0) words.texts++;
  words.tokens += reasonTokens(cuts) - reasonTokens(plan.cuts);
  return { ...plan, cuts };
};
const planner = recoveryHint === '' ? planPrune : withHint;
const totals = newTotals();
const ids: string[] = [];
for (const file of positionals) {
  for await (const line of createInterface({ input: createReadStream(file) })) {
    const raw = JSON.parse(line) as RulerCase;
    if (values.family !== undefined && raw.family !== values.family) continue;
    const item: EvalCase = {
      id: raw.id,
      group: raw.family,
      path: values['with-path'] ? (raw.path ?? '') : '',
      sourceType: raw.source_type,
      goal: raw.goal_hint,
      text: raw.text,
      needed: raw.gold,
    };
    ids.push(`${raw.id} ${raw.path ?? ''}`);
    evaluateCase(
      item,
      {
        ratios,
        minKeepLines: Number(values['min-keep']),
        origin: values.origin as Origin,
        plan: values['baselines-only'] ? whole : planner,
        quick: values.quick,
        shortMarkers: values['short-markers'],
      },
      totals,
    );
  }
}

const families = [...new Set(totals.rows.map((row) => row.group))];
const summaries = families.map((family) =>
  summarise(
    family,
    totals.rows.filter((row) => row.group === family),
    ratios,
  ),
);
const out = (line: string): boolean => process.stdout.write(`${line}\n`);
out(
  `cases ${totals.rows.length}, violations ${totals.violations}, ${((totals.planMs / totals.bytes) * 1e6).toFixed(1)} ms/MB`,
);
if (words.texts > 0) out(`words: ${(words.tokens / words.texts).toFixed(1)} tokens a cut text (${words.texts})`);
out(`${'system'.padEnd(14)} summary  ${families.map((f) => f.padStart(7)).join(' ')}`);
for (const { name } of summaries[0]?.systems ?? []) {
  const skills = summaries.map((s) => s.systems.find((x) => x.name === name)?.skill ?? Number.NaN);
  out(
    `${name.padEnd(14)} ${mean(skills).toFixed(3).padStart(7)}  ${skills.map((x) => x.toFixed(3).padStart(7)).join(' ')}`,
  );
}
for (const summary of summaries) {
  out(`\n${summary.group} (${summary.cases}): recall / all kept / chars saved / tokens saved / structure`);
  for (const { name, points } of summary.systems) {
    const cells = points.map((p) =>
      [p.recall, p.allKept, p.savedChars, p.savedTokens, p.structure].map((x) => x.toFixed(2)).join(' '),
    );
    out(`${name.padEnd(14)} ${cells.join(' | ')}`);
  }
}
if (!values.quick) {
  const lead = summaries.map((s) => [
    s.group,
    intervals(
      totals.rows.filter((row) => row.group === s.group),
      ratios,
      PRUNER,
      ['bm25', 'reference'],
    ),
  ]);
  out(`\n${JSON.stringify(lead.map(([g, x]) => [g, typeof x === 'string' ? x : x?.skill]))}`);
}
const worst = Number(values.worst);
if (worst > 0) {
  const middle = Math.floor(ratios.length / 2);
  const scored = totals.rows.map((row, i) => {
    const at = (name: string): number => row.systems.get(name)?.[middle]?.recall ?? 0;
    return {
      id: ids[i] ?? '',
      lag: Math.max(at('bm25'), at('reference'), at('grep')) - at(PRUNER),
      recall: at(PRUNER),
    };
  });
  out(`\nfurthest behind the best baseline at ratio ${ratios[middle]}:`);
  for (const s of scored.sort((a, b) => b.lag - a.lag).slice(0, worst)) {
    out(`${s.lag.toFixed(2)} recall ${s.recall.toFixed(2)} ${s.id}`);
  }
}
