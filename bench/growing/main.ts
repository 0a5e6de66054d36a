/**
 * What recorded conversations would have cost, and which of the lines that they came back to would have stood there:
 *   node bench/run.mjs bill <recordings.jsonl>… [--part seen|unseen|all] [--agent <name>] [--set KEY=value]… [--long]
 *
 * Each conversation is sent as the growing requests of its agent through the proxy's own code. A third of them, told by a
 * hash of their names, is unseen: looked at only when a rule is settled.
 */
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { decisionCacheOf, rewriterOf } from '../../src/app/pipeline.ts';
import { openStore } from '../../src/app/store.ts';
import { table } from '../../src/cli/table.ts';
import { loadSettings } from '../../src/config/load.ts';
import { RefusedConversations } from '../../src/core/request/provider-verdicts.ts';
import { edition } from '../../src/edition.ts';
import { DirectiveBook } from '../../src/gc/directive-book.ts';
import { PayingSteps } from '../../src/gc/paying-steps.ts';
import { type RecordedMessage, textOf, textResultOf } from '../../src/parts/lab/replay/messages.ts';
import { Replay, type ReplayTotals } from '../../src/parts/lab/replay/replay.ts';
import { type ReplayReport, replayReport } from '../../src/parts/lab/replay/report.ts';
import { openaiChat } from '../../src/wires/dialects/openai-chat/dialect.ts';
import { callFacts } from '../../src/wires/transcript/tools.ts';
import type { Message, Recording } from '../recordings/conversation.ts';
import { isUnseen, play, recordingsIn, sumOf } from '../recordings/play.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    part: { type: 'string', default: 'seen' },
    agent: { type: 'string' },
    set: { type: 'string', multiple: true },
    lost: { type: 'boolean' },
    long: { type: 'boolean' },
    each: { type: 'boolean' },
  },
});
const clock = { nowMs: () => Date.now() };
const env = Object.fromEntries((values.set ?? []).map((pair) => pair.split('=', 2)));
const { settings } = loadSettings({
  table: edition.settings,
  env,
  platform: process.platform,
  homeDir: '/nowhere',
  cwd: '/nowhere',
  readFile: (path) => readFileSync(path, 'utf8'),
});
const offline = { ...settings, databaseUrl: null, dbPath: ':memory:', timeoutMs: 600_000 };

/** Long conversations with large results: so many requests, and so many characters in results of the size that is looked at. */
const LONG_REQUESTS = 40;
const LONG_CHARS = 200_000;
const LARGE_CHARS = 4_000;

function isLong({ messages }: Recording): boolean {
  const chars = messages.reduce((sum, message, i) => {
    const isResult = message.role === 'tool' || textResultOf(asRecorded(message), asRecorded(messages[i - 1])) !== null;
    const { length } = textOf(asRecorded(message));
    return isResult && length >= LARGE_CHARS ? sum + length : sum;
  }, 0);
  return messages.filter(({ role }) => role === 'assistant').length >= LONG_REQUESTS && chars >= LONG_CHARS;
}

function asRecorded(message: Message | undefined): RecordedMessage {
  return { ...message, role: String(message?.role ?? '') };
}

function noop(): void {}

/** Agents on a wire whose provider checks the past: nothing that was sent is set aside later. */
const BOUND: ReadonlySet<string> = new Set(['Claude Code']);

/** A replay of its own for each agent, all with the proxy's own way of rewriting. */
async function replayOf(agent: string): Promise<{ replay: Replay; close: () => Promise<void> }> {
  const store = await openStore(offline, { edition, clock });
  const onFailure = (reason: string, cause: unknown): never => {
    throw new Error(reason, { cause });
  };
  const stepOptions = { store: store.segments, events: store, clock, onStep: noop, onFailure };
  const rewriter = rewriterOf(offline, {
    store,
    clock,
    decisionCache: decisionCacheOf(offline, store, clock),
    refused: new RefusedConversations(store),
    onFailure,
    ...(settings.stashSeenAgain &&
      !BOUND.has(agent) && {
        segments: {
          directives: new DirectiveBook(store.segments),
          costCollector: new PayingSteps(stepOptions),
        },
      }),
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

const byAgent = new Map<string, Recording[]>();
for await (const recording of recordingsIn(positionals)) {
  if (values.part !== 'all' && isUnseen(recording) !== (values.part === 'unseen')) continue;
  if (values.long === true && !isLong(recording)) continue;
  if (values.agent !== undefined && values.agent !== recording.agent) continue;
  byAgent.set(recording.agent, [...(byAgent.get(recording.agent) ?? []), recording]);
}
const rows: string[][] = [];
const totals: ReplayTotals[] = [];
for (const [agent, recordings] of [...byAgent].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
  const one = await replayOf(agent);
  for (const recording of recordings) {
    await play(one.replay, recording);
    if (values.each !== true) continue;
    const single = await replayOf(agent);
    await play(single.replay, recording);
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
