/**
 * What recorded conversations would have cost, and which of the lines that they came back to would have stood there:
 *   node bench/run.mjs bill <recordings.jsonl>… [--part seen|unseen|all] [--agent <name>] [--set KEY=value]…
 *
 * Each conversation is sent as the growing requests of its agent through the proxy's own code. A third of them, told by a
 * hash of their names, is unseen: looked at only when a rule is settled.
 */
import { createHash } from 'node:crypto';
import { createReadStream, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { parseArgs } from 'node:util';
import { decideOnceOf } from '../../src/app/decide-once.ts';
import { rewriterOf } from '../../src/app/rewriter.ts';
import { openStore } from '../../src/app/store.ts';
import { loadSettings } from '../../src/config/load.ts';
import { RefusedConversations } from '../../src/core/refused-conversations.ts';
import { openaiChat } from '../../src/dialects/openai-chat/dialect.ts';
import { Replay, type ReplayTotals } from '../../src/eval/replay/replay.ts';
import { type ReplayReport, replayReport } from '../../src/eval/replay/report.ts';
import { table } from '../../src/eval/table.ts';
import { callFacts } from '../../src/transcript/tools.ts';
import type { Recording } from '../recordings/conversation.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    part: { type: 'string', default: 'seen' },
    agent: { type: 'string' },
    set: { type: 'string', multiple: true },
    lost: { type: 'boolean' },
    each: { type: 'boolean' },
  },
});
const clock = { nowMs: () => Date.now() };
const env = Object.fromEntries((values.set ?? []).map((pair) => pair.split('=', 2)));
const { settings } = loadSettings({
  env,
  platform: process.platform,
  homeDir: '/nowhere',
  cwd: '/nowhere',
  readFile: (path) => readFileSync(path, 'utf8'),
});
const offline = { ...settings, databaseUrl: null, dbPath: ':memory:', timeoutMs: 600_000 };

function isUnseen({ name }: Recording): boolean {
  return createHash('sha256').update(name).digest().readUInt32LE() % 3 === 0;
}

/** A replay of its own for each agent, all with the proxy's own way of rewriting. */
async function replayOf(): Promise<{ replay: Replay; close: () => Promise<void> }> {
  const store = await openStore(offline, { clock });
  const rewriter = rewriterOf(offline, {
    store,
    clock,
    once: decideOnceOf(offline, store, clock),
    refused: new RefusedConversations(store),
    onFailure: (reason, cause) => {
      throw new Error(reason, { cause });
    },
  });
  const replay = new Replay({
    rewrite: async (body) => (await rewriter.rewrite({ body, dialect: openaiChat })).body,
    targetOf: (call) => {
      const { origin, path = '' } = callFacts(call).hints;
      return { reads: origin === 'read', path };
    },
  });
  return { replay, close: () => Promise.resolve(store.close()) };
}

async function add(replay: Replay, { messages }: Recording): Promise<void> {
  const answers = messages.flatMap(({ role }, i) => (role === 'assistant' ? [i] : []));
  for (const at of answers) {
    const body = { model: 'm', messages: messages.slice(0, at) };
    const answer = { role: 'assistant', ...messages[at] };
    await replay.add(at === answers.at(-1) ? { body, answer } : { body });
  }
}

const percent = (share: number | null): string => (share === null ? '-' : `${(share * 100).toFixed(1)} %`);

function rowOf(name: string, report: ReplayReport): string[] {
  const { conversations, requests, costRatio, tokensAfter, tokensBefore, laterUsedKept, laterUsedVisible } = report;
  const used = Object.values(report.uses).reduce((sum, use) => sum + use.used, 0);
  return [
    name,
    String(conversations),
    String(requests),
    (tokensAfter / tokensBefore).toFixed(3),
    costRatio?.toFixed(3) ?? '-',
    String(used),
    percent(laterUsedKept),
    percent(laterUsedVisible),
    percent(report.prefixStable),
  ];
}

function sumOf(totals: readonly ReplayTotals[]): ReplayTotals {
  const sum = new Replay({ rewrite: (body) => Promise.resolve(body), targetOf: () => ({ reads: false, path: '' }) })
    .totals;
  for (const one of totals) {
    for (const key of Object.keys(sum) as (keyof ReplayTotals)[]) {
      const value = one[key];
      if (typeof value === 'number') Object.assign(sum, { [key]: Number(sum[key]) + value });
    }
    for (const [use, { used, kept, visible }] of Object.entries(one.uses)) {
      const into = sum.uses[use as keyof ReplayTotals['uses']];
      into.used += used;
      into.kept += kept;
      into.visible += visible;
    }
  }
  return sum;
}

const byAgent = new Map<string, Recording[]>();
for (const path of positionals) {
  for await (const line of createInterface({ input: createReadStream(path, 'utf8') })) {
    const recording = JSON.parse(line) as Recording;
    if (values.part !== 'all' && isUnseen(recording) !== (values.part === 'unseen')) continue;
    if (values.agent !== undefined && values.agent !== recording.agent) continue;
    byAgent.set(recording.agent, [...(byAgent.get(recording.agent) ?? []), recording]);
  }
}
const rows: string[][] = [];
const totals: ReplayTotals[] = [];
for (const [agent, recordings] of [...byAgent].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
  const one = await replayOf();
  for (const recording of recordings) {
    await add(one.replay, recording);
    if (values.each !== true) continue;
    const single = await replayOf();
    await add(single.replay, recording);
    rows.push(rowOf(`  ${recording.name.slice(-60)}`, replayReport(single.replay.finish())));
    await single.close();
  }
  totals.push(one.replay.finish());
  const report = replayReport(one.replay.totals);
  rows.push(rowOf(agent, report));
  if (values.lost === true) for (const { use, at, line } of report.lost) rows.push([`    ${use} ${at}: ${line}`]);
  await one.close();
}
rows.push(rowOf('all', replayReport(sumOf(totals))));
const head = ['', 'conversations', 'requests', 'tokens', 'bill', 'used', 'kept', 'visible', 'prefix'];
process.stdout.write(`${table([head, ...rows])}\n`);
