/**
 * What recorded sessions cost, whole, and what of the work still has its ground under it:
 *   node bench/run.mjs bill <recordings.jsonl>… [--part seen|unseen|all] [--agent <name>] [--set KEY=value]…
 *     [--cold] [--sample <facts> [--seed <word>]]
 *   node bench/run.mjs bill <recordings.jsonl>… --seams [--cached .05]   simulated from the usage alone
 *   node bench/run.mjs bill --sessions <home folder> …   the sessions that the agents of this machine keep there
 *
 * Each conversation goes through the proxy's own code, request by request at the recorded times. A third of them, chosen by
 * a hash of their sessions, is held back: looked at only when a rule is settled.
 *
 * `--seams` shows what is left of the bill with compactions: by the provider where one task ends and the next begins, from a
 * weight on; by the client at a length; and, as a control, at random requests. Pessimistic: a summary of 20,000 tokens instead
 * of 10,000, and four reads of 5,000 again.
 *
 * `--cold` has a row without MCP_PRUNER_COLD_STASH and one with it. What Anthropic's API clears is simulated; sessions with models that check the history
 * have rows of their own. `--sample` prints facts to be checked by hand.
 */
import { parseArgs } from 'node:util';
import { table } from '../../src/cli/table.ts';
import type { Recording } from '../recordings/conversation.ts';
import { ownRecordings } from '../recordings/own.ts';
import { isUnseen, recordingsIn } from '../recordings/play.ts';
import { rowNameOf } from './agents.ts';
import { forwarderOf } from './forward.ts';
import { measure } from './measure.ts';
import { drawnFrom, factsOfCuts, type SampledFact, samplePage } from './sample.ts';
import { SEAM_HEAD, SeamRows, turnsOf } from './seams.ts';
import { HEAD, rowOf, type Sums, sumOf } from './sums.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    part: { type: 'string', default: 'seen' },
    agent: { type: 'string' },
    set: { type: 'string', multiple: true },
    sessions: { type: 'string' },
    cold: { type: 'boolean' },
    seams: { type: 'boolean' },
    cached: { type: 'string', default: '.1' },
    sample: { type: 'string' },
    seed: { type: 'string', default: '1' },
  },
});
const env = Object.fromEntries((values.set ?? []).map((pair) => pair.split('=', 2)));

/** The settings of a row, and its name. */
interface Variant {
  readonly name: string;
  readonly env: Readonly<Record<string, string>>;
}

const COLD: Variant = { name: 'cold', env: { MCP_PRUNER_COLD_STASH: 'on' } };
const PLAIN: Variant = { name: '', env: {} };

function variants(): Variant[] {
  const all = values.cold === true ? [PLAIN, COLD] : [PLAIN];
  return all.map((cold) => ({ ...cold, env: { ...cold.env, ...env } }));
}

/** After so many recordings a new store is opened. */
const STORE_RECORDINGS = 50;

const facts: SampledFact[] = [];
const rows: string[][] = [];

/** The recordings of the wanted part and agent. */
async function* recordings(): AsyncGenerator<Recording> {
  const { sessions, part, agent: only } = values;
  for await (const recording of sessions === undefined ? recordingsIn(positionals) : ownRecordings(sessions)) {
    if (sessions === undefined && part !== 'all' && isUnseen(recording) !== (part === 'unseen')) continue;
    if (only === undefined || only === recording.agent) yield recording;
  }
}

/** Measures all recordings with some settings. @returns sums by agent */
async function measureAll({ name, env: settings }: Variant): Promise<ReadonlyMap<string, readonly Sums[]>> {
  const byAgent = new Map<string, Sums[]>();
  let forwarder = await forwarderOf(settings);
  let count = 0;
  for await (const recording of recordings()) {
    if (++count % STORE_RECORDINGS === 0) {
      await forwarder.close();
      forwarder = await forwarderOf(settings);
    }
    const measured = await measure(recording, forwarder);
    if (values.sample !== undefined) facts.push(...factsOfCuts(measured));
    const row = rowNameOf(recording);
    byAgent.set(row, [...(byAgent.get(row) ?? []), measured.sums]);
  }
  await forwarder.close();
  const sorted = [...byAgent].toSorted(([a], [b]) => (a < b ? -1 : 1));
  for (const [agent, each] of sorted) rows.push(rowOf(`${agent} ${name}`.trim(), each));
  rows.push(rowOf(`all ${name}`.trim(), [...byAgent.values()].flat()));
  return byAgent;
}

/** Simulates compactions of all recordings with usage. */
async function seamTable(): Promise<string> {
  const found = new SeamRows();
  for await (const recording of recordings()) found.add(recording.agent, turnsOf(recording, Number(values.cached)));
  return table([SEAM_HEAD, ...found.rows()]);
}

let measured: ReadonlyMap<string, readonly Sums[]> = new Map();
if (values.seams === true) process.stdout.write(`${await seamTable()}\n`);
else for (const variant of variants()) measured = await measureAll(variant);
if (values.seams !== true && values.sample === undefined) {
  process.stdout.write(`${table([HEAD, ...rows])}\n`);
  for (const [agent, each] of measured) {
    const { untimed, sessions } = sumOf(each);
    if (untimed === 0) continue;
    process.stdout.write(`${agent}: ${untimed} of ${sessions} have no times, so that their caches never expire\n`);
  }
} else if (values.seams !== true)
  process.stdout.write(samplePage(drawnFrom(facts, Number(values.sample), values.seed)));
