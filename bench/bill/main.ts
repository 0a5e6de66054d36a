/**
 * What recorded sessions cost, whole, and what of the work still has its ground under it:
 *   node bench/run.mjs bill <recordings.jsonl>… [--part seen|unseen|all] [--agent <name>] [--set KEY=value]… [--dials] [--kinds] [--lost]
 *   node bench/run.mjs bill --sessions <home folder> …   the sessions that the agents of this machine keep there
 *
 * Each conversation goes through the proxy's own code. A third of them, told by a hash of their sessions, is held back:
 * looked at only when a rule is settled. `bench -- growing` sends every request and knows what is set aside later.
 */
import { parseArgs } from 'node:util';
import { table } from '../../src/cli/table.ts';
import { estimateTokens } from '../../src/engine/text/tokens.ts';
import type { Message, Recording } from '../recordings/conversation.ts';
import { ownRecordings } from '../recordings/own.ts';
import { isUnseen, recordingsIn } from '../recordings/play.ts';
import { type Forwarder, forwarderOf } from './forward.ts';
import { kindsOf } from './kinds.ts';
import { needsOf, Sent } from './needs.ts';
import { cutAtRandom } from './random.ts';
import { charsPerToken, realBillOf } from './real-bill.ts';
import { contentOf } from './shown.ts';
import { HEAD, keptOf, recoveriesOf, rowOf, type Sums } from './sums.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    part: { type: 'string', default: 'seen' },
    agent: { type: 'string' },
    set: { type: 'string', multiple: true },
    sessions: { type: 'string' },
    /** A row for each setting of MCP_PRUNER_BOLDNESS. */
    dials: { type: 'boolean' },
    kinds: { type: 'boolean' },
    lost: { type: 'boolean' },
  },
});
const env = Object.fromEntries((values.set ?? []).map((pair) => pair.split('=', 2)));

/** Characters per token where a session does not show its own. */
const USUAL: Readonly<Record<string, number>> = { 'Claude Code': 2.8, Codex: 4, opencode: 3.8 };
const CACHED = 0.1;

/** What the messages alone cost with a cache that never fails, in estimated tokens. */
function messagesBill(messages: readonly Message[]): number {
  let input = 0;
  let fresh = 0;
  let billed = 0;
  for (const message of messages) {
    const tokens = estimateTokens(contentOf(message)) + estimateTokens(JSON.stringify(message.tool_calls ?? ''));
    if (message.role === 'assistant') {
      billed += CACHED * input + fresh;
      input += fresh;
      fresh = 0;
    }
    fresh += tokens;
  }
  return billed;
}

/** What cuts of one kind of result won and lost. */
interface KindSums {
  cost: number;
  saved: number;
  lines: number;
  lost: number;
  editsLost: number;
}

const byKind = new Map<string, KindSums>();

function kindSums(kind: string): KindSums {
  const known = byKind.get(kind) ?? { cost: 0, saved: 0, lines: 0, lost: 0, editsLost: 0 };
  byKind.set(kind, known);
  return known;
}

async function measure(recording: Recording, forwarder: Forwarder): Promise<Sums> {
  const { messages, name, agent } = recording;
  const forwarded = await forwarder.forward(recording);
  const needs = needsOf(messages);
  const sent = new Sent(forwarded);
  const bill = realBillOf(recording, forwarded, charsPerToken(recording, USUAL[agent] ?? 3.5));
  const kinds = kindsOf(messages);
  for (const [i, { cost, saved }] of bill.costBy) {
    const sums = kindSums(kinds[i] ?? '');
    sums.cost += cost;
    sums.saved += saved;
  }
  for (const line of needs.lines) {
    const kind = kinds[line.from.at(-1) ?? -1] ?? '';
    kindSums(kind).lines++;
    if (sent.hasLine(line)) continue;
    kindSums(kind).lost++;
    if (values.lost === true) process.stdout.write(`${kind}\t${name} ${line.from.at(-1)}→${line.at}\t${line.text}\n`);
  }
  for (const blocks of needs.edits) {
    const first = blocks[0]?.from.at(-1) ?? blocks[0]?.lines[0]?.from.at(-1) ?? -1;
    if (sent.hasEdit(blocks)) continue;
    kindSums(kinds[first] ?? '').editsLost++;
    if (values.lost === true) process.stdout.write(`edit ${kinds[first]}\t${name} ${first}→${blocks[0]?.at}\n`);
  }
  for (const literal of needs.literals) {
    if (values.lost === true && !sent.hasLiteral(literal)) {
      const from = literal.from.at(-1) ?? -1;
      process.stdout.write(`literal ${kinds[from]}\t${name} ${from}→${literal.at}\t${literal.text}\n`);
    }
  }
  return {
    sessions: 1,
    requests: bill.requests,
    messagesBefore: messagesBill(messages),
    messagesAfter: messagesBill(forwarded),
    billBefore: bill.before,
    billAfter: bill.after,
    recoveries: recoveriesOf(needs, sent, bill),
    used: {
      lines: needs.lines.length,
      edits: needs.edits.length,
      literals: needs.literals.length,
      findings: needs.findings.length,
      answers: needs.answers.length,
    },
    kept: keptOf(needs, sent),
    random: keptOf(needs, new Sent(cutAtRandom(name, messages, forwarded))),
    peakBefore: bill.peakBefore,
    peakAfter: bill.peakAfter,
    compactionsBefore: [...bill.compactionsBefore],
    compactionsAfter: [...bill.compactionsAfter],
  };
}

const DIALS = ['careful', 'balanced', 'bold'];

/** Measures all recordings with one setting of the dial. */
async function measureAll(dial: string): Promise<void> {
  const byAgent = new Map<string, Sums[]>();
  const settings = dial === '' ? env : { ...env, MCP_PRUNER_BOLDNESS: dial };
  let forwarder = await forwarderOf(settings);
  let count = 0;
  const { sessions, part, agent: only } = values;
  for await (const recording of sessions === undefined ? recordingsIn(positionals) : ownRecordings(sessions)) {
    const { agent } = recording;
    if (sessions === undefined && part !== 'all' && isUnseen(recording) !== (part === 'unseen')) continue;
    if (only !== undefined && only !== agent) continue;
    if (++count % 50 === 0) {
      forwarder.close();
      forwarder = await forwarderOf(settings);
    }
    byAgent.set(agent, [...(byAgent.get(agent) ?? []), await measure(recording, forwarder)]);
  }
  forwarder.close();
  for (const [agent, each] of [...byAgent].toSorted(([a], [b]) => (a < b ? -1 : 1)))
    rows.push(rowOf(`${agent} ${dial}`.trim(), each));
  const everything = [...byAgent.values()].flat();
  rows.push(rowOf(`all ${dial}`.trim(), everything));
  all.push(...everything);
}

const rows: string[][] = [];
const all: Sums[] = [];
for (const dial of values.dials === true ? DIALS : ['']) await measureAll(dial);
process.stdout.write(`${table([HEAD, ...rows])}\n`);
if (values.kinds === true) {
  const bill = all.reduce((sum, { billBefore }) => sum + billBefore, 0);
  const lines = all.reduce((sum, { used }) => sum + used.lines, 0);
  const points = (part: number, whole: number): string => ((100 * part) / Math.max(1, whole)).toFixed(2);
  const kinds = [...byKind]
    .toSorted(([, a], [, b]) => b.saved - a.saved)
    .map(([kind, sums]) => [
      kind,
      points(sums.cost, bill),
      points(sums.saved, bill),
      points(sums.lost, lines),
      `${sums.lost}/${sums.lines}`,
      String(sums.editsLost),
    ]);
  const head = ['', 'points of the bill', 'won', 'points of lines lost', 'lines lost', 'edits lost'];
  process.stdout.write(`\n${table([head, ...kinds])}\n`);
}
