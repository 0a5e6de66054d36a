/**
 * Whether recall finds what an agent read again, in recorded sessions:
 *   node bench/run.mjs recall-places <recordings.jsonl>… [--places 300] [--part seen|unseen|all] [--missed]
 *
 * A place is a call whose result had been shown before: at least half of its lines stood in an earlier result of the same
 * conversation, ten messages or more before. All results of a file up to that place are kept, as the proxy keeps them, in
 * one project. The query is the agent's message at that place: its words with what its call asks for, what its call asks
 * for alone, or its words alone.
 * A hit is right if half of the lines that are read again stand in it.
 */
import { basename } from 'node:path';
import { parseArgs } from 'node:util';
import { findSettingsOf } from '../../src/app/pipeline.ts';
import { loadSettings } from '../../src/config/load.ts';
import { Turns } from '../../src/core/decide/turns.ts';
import { ResultKeeper } from '../../src/core/recall/keeper.ts';
import { Recall } from '../../src/core/recall/recall.ts';
import { ResultWriter } from '../../src/core/recall/writer.ts';
import { MIN_KEPT_CHARS } from '../../src/core/request/results.ts';
import { SeenReader } from '../../src/core/seen/reader.ts';
import { edition } from '../../src/edition.ts';
import { openSqliteStore } from '../../src/store/sqlite.ts';
import { openaiChat } from '../../src/wires/dialects/openai-chat/dialect.ts';
import { callFacts } from '../../src/wires/transcript/tools.ts';
import type { Message, Recording } from '../recordings/conversation.ts';
import { isUnseen, recordingsIn } from '../recordings/play.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    places: { type: 'string', default: '300' },
    part: { type: 'string', default: 'all' },
    missed: { type: 'boolean', default: false },
  },
});
if (positionals.length === 0) {
  process.stderr.write(
    'usage: node bench/run.mjs recall-places <recordings.jsonl>… [--places n] [--part seen|unseen] [--missed]\n',
  );
  process.exit(2);
}
const wanted = Number(values.places);
/** Places taken of one conversation. */
const MOST_OF_CONVERSATION = 6;
const APART = 10;
const LINE_CHARS = 20;
const HITS = 5;
/** A message with fewer words of its own asks for nothing. */
const MIN_WORDS = 3;

interface Place {
  /** Index of the agent's message. */
  readonly at: number;
  /** What the message says, and what its calls ask for. */
  readonly words: string;
  readonly asks: string;
  /** What was read again. */
  readonly lines: ReadonlySet<string>;
}

const textOf = ({ content }: Message): string => (typeof content === 'string' ? content : '');
const linesOf = (text: string): Set<string> =>
  new Set(
    text
      .split('\n')
      .map((line) => line.replace(/^\s*\d+[\t→:|]\s?/, '').trim())
      .filter(({ length }) => length >= LINE_CHARS),
  );

interface Call {
  readonly id: string;
  readonly name: string;
  readonly args: string;
}

function callsOf({ tool_calls }: Message): Call[] {
  if (!Array.isArray(tool_calls)) return [];
  return tool_calls.map(({ id, function: { name, arguments: args } }) => ({ id, name, args }));
}

/** The places of a conversation, of each message the first call that reads something again. */
function placesOf({ messages }: Recording): Place[] {
  const shown: { at: number; lines: Set<string> }[] = [];
  const places: Place[] = [];
  let asking = -1;
  for (const [i, message] of messages.entries()) {
    if (message.role === 'assistant') asking = i;
    const text = textOf(message);
    if (message.role !== 'tool' || text.length < MIN_KEPT_CHARS) continue;
    const lines = linesOf(text);
    const call = callsOf(messages[asking] ?? {}).find(({ id }) => id === message.tool_call_id);
    const isAgain = shown.some((one) => one.at <= asking - APART && sharesHalf(lines, one.lines));
    if (call && lines.size > 0 && isAgain && places.at(-1)?.at !== asking) {
      places.push({ at: asking, words: textOf(messages[asking] ?? {}), asks: callFacts(call).said, lines });
    }
    shown.push({ at: i, lines });
  }
  return places;
}

function sharesHalf(lines: ReadonlySet<string>, before: ReadonlySet<string>): boolean {
  let shared = 0;
  for (const line of lines) if (before.has(line)) shared++;
  return shared * 2 >= lines.size;
}

/** Spread over a conversation. */
function spread<T>(items: readonly T[], most: number): T[] {
  const step = Math.max(1, items.length / most);
  return Array.from({ length: Math.min(most, items.length) }, (_, i) => items[Math.floor(i * step)]).filter(
    (one) => one !== undefined,
  );
}

const { settings } = loadSettings({
  table: edition.settings,
  env: {},
  platform: process.platform,
  homeDir: '/nowhere',
  cwd: '/nowhere',
  readFile: () => '',
});
let now = Date.parse('2026-01-01');
const clock = { nowMs: () => now };
const store = openSqliteStore({ path: ':memory:', clock, ttlMs: 1e12, maxBytes: 1e12, maxEvents: 0 });
await store.ready();
const onFailure = (reason: string, cause: unknown): never => {
  throw new Error(reason, { cause });
};
const find = findSettingsOf(settings);
const keeper = new ResultKeeper({ sink: new ResultWriter({ store, keepsAll: true }), clock, ttlMs: 1e12, onFailure });
const reader = new SeenReader({ find, observers: [keeper], turns: new Turns(), onFailure });
const recall = new Recall({ store: store.recall, flush: () => keeper.flush() });

async function keep(messages: readonly Message[], project: string): Promise<void> {
  const body = Buffer.from(JSON.stringify({ model: 'm', messages }));
  const scope = { project, task: '', requestId: '' };
  reader.add({
    body,
    dialect: openaiChat,
    scope,
    purpose: 'generate' as const,
    keepsResults: true,
    isOwned: false,
    read: null,
    segments: null,
  });
  await reader.flush();
  await keeper.flush();
}

/** Place of the first right hit, from 1 on; 0 where none of the first ones is right. */
async function rankOf(query: string, project: string, lines: ReadonlySet<string>): Promise<number> {
  const { hits } = await recall.search({ query, scope: 'project', limit: HITS, project, task: '' });
  const texts = await store.recall.texts(hits.map(({ prune_id }) => prune_id));
  return 1 + hits.findIndex(({ prune_id }) => sharesHalf(lines, linesOf(texts.get(prune_id) ?? '')));
}

const sums = new Map<
  string,
  { places: number; spoken: number; first: number; five: number; asks: number; words: number }
>();
const sumOf = (name: string) => {
  const known = sums.get(name) ?? { places: 0, spoken: 0, first: 0, five: 0, asks: 0, words: 0 };
  sums.set(name, known);
  return known;
};
const isHit = (rank: number): boolean => rank > 0;
const say = (line: string): void => void process.stdout.write(`${line}\n`);

const recordings: { recording: Recording; project: string; places: Place[] }[] = [];
for (const path of positionals) {
  for await (const recording of recordingsIn([path])) {
    const isIn = values.part === 'all' || isUnseen(recording) === (values.part === 'unseen');
    const places = isIn ? spread(placesOf(recording), MOST_OF_CONVERSATION) : [];
    recordings.push({ recording, project: basename(path), places });
  }
}
const all = recordings.reduce((sum, { places }) => sum + places.length, 0);
let number = 0;
for (const { recording, project, places } of recordings) {
  const { messages, agent } = recording;
  for (const { at, words, asks, lines } of places) {
    now += 60_000;
    // as many as are wanted, evenly from all
    if (Math.floor((++number * wanted) / all) === Math.floor(((number - 1) * wanted) / all)) continue;
    await keep(messages.slice(0, at), project);
    const isSpoken = words.split(/\s+/).filter(Boolean).length >= MIN_WORDS;
    const rank = await rankOf(`${words}\n${asks}`, project, lines);
    const rankOfAsks = await rankOf(asks, project, lines);
    const rankOfWords = isSpoken ? await rankOf(words, project, lines) : 0;
    for (const sum of [sumOf(agent), sumOf('all')]) {
      sum.places++;
      if (rank === 1) sum.first++;
      if (isHit(rank)) sum.five++;
      if (isHit(rankOfAsks)) sum.asks++;
      if (isSpoken) sum.spoken++;
      if (isHit(rankOfWords)) sum.words++;
    }
    if (values.missed && !isHit(rank))
      say(`${agent} ${at}: ${JSON.stringify(words.slice(0, 200))} asks ${JSON.stringify(asks.slice(0, 200))}`);
  }
  now += 600_000;
  await keep(messages, project);
}
const share = (part: number, of: number): string => `${of === 0 ? 0 : Math.round((1000 * part) / of) / 10} %`;
for (const [name, { places, spoken, first, five, asks, words }] of sums) {
  say(
    `${name}: ${places} places; with what the call asks for ${share(five, places)} in the first ${HITS}, ${share(first, places)} first; what it asks for alone ${share(asks, places)}; words alone ${share(words, spoken)} of ${spoken} that have words`,
  );
}
await store.close();
