/**
 * Whether recall finds a text, and how long a search takes: `npm run bench recall [megabytes…]`.
 *
 * The results are parts of 12,000 characters of the files of this repository and its libraries, at random; beyond what
 * these have, lines of them are mixed. A query is 3 to 5 words that stand within eight lines of a result; the hit is
 * that result. The first search reads every text and leaves filters behind, the others use them.
 */
import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { textHash } from '../../src/core/hash.ts';
import { keptId } from '../../src/core/recall/kept-text.ts';
import { Recall } from '../../src/core/recall/recall.ts';
import { ResultWriter } from '../../src/core/recall/writer.ts';
import { sqliteDriver } from '../../src/store/sqlite/driver.ts';
import { openSqliteStore } from '../../src/store/sqlite.ts';
import { packTextLater } from '../../src/store/text-codec.ts';

const CHUNK = 12_000;
const QUERIES = 150;
let seed = 7;
const random = (below: number): number => {
  seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
  return Math.floor((seed / 2 ** 32) * below);
};
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const at = (values: readonly number[], share: number): string =>
  (values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? 0).toFixed(1);
const cpuMs = (): number => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
};

const files = ['src', 'test', 'docs', 'node_modules']
  .flatMap((folder) => readdirSync(folder, { recursive: true, encoding: 'utf8' }).map((file) => join(folder, file)))
  .filter((file) => /\.(?:[cm]?js|tsx?|md)$/.test(file) && statSync(file).isFile())
  .map((file) => ({ file, order: random(1e9) }))
  .sort((a, b) => a.order - b.order)
  .map(({ file }) => file);

/** Texts of about `CHUNK` characters, at most `most` characters in all. */
function* texts(most: number): Generator<string> {
  let chars = 0;
  const known: string[] = [];
  for (const file of files) {
    let text = '';
    for (const line of readFileSync(file, 'utf8').split('\n')) {
      text += `${line.slice(0, CHUNK)}\n`;
      if (text.length < CHUNK) continue;
      yield text;
      chars += text.length;
      if (known.length < 4_000) known.push(text);
      if (chars > most) return;
      text = '';
    }
    if (text.length > 1_000) {
      yield text;
      chars += text.length;
    }
    if (chars > most) return;
  }
  for (let i = 0; chars < most; i++) {
    let text = `result ${i}\n`;
    while (text.length < CHUNK) {
      const lines = (known[random(known.length)] ?? '').split('\n');
      const from = random(lines.length);
      text += `${lines.slice(from, from + 10).join('\n')}\nid ${random(2 ** 31).toString(36)}\n`;
    }
    yield text;
    chars += text.length;
  }
}

async function run(megabytes: number): Promise<void> {
  const path = join(tmpdir(), `recall-bench-${process.pid}.db`);
  const clock = { nowMs: () => Date.now() };
  const store = openSqliteStore({ path, clock, ttlMs: 1e12, maxBytes: 1e15, maxEvents: 0 });
  await store.ready();
  const writer = new ResultWriter({ store, keepsAll: true, pack: packTextLater });
  const queries: { readonly id: string; readonly query: string }[] = [];
  let [chars, count] = [0, 0];
  let storing = 0;
  let some: { text: string; hash: string }[] = [];
  const flush = async (): Promise<void> => {
    const results = some.map(({ text, hash }, k) => {
      const of = {
        tool: 'read',
        path: `res${count - some.length + k}`,
        about: '',
        call: `c${count - some.length + k}`,
      };
      return { text, hash, pruneId: keptId(hash), ordinal: count - some.length + k, ...of };
    });
    some = [];
    const of = { project: 'p', task: '', conversationId: `c${count >> 6}`, isOwned: false };
    const began = cpuMs();
    await writer.write({ ...of, atMs: 1e12 + count, results });
    storing += cpuMs() - began;
  };
  for (const text of texts(megabytes * 1e6)) {
    some.push({ text, hash: textHash(text) });
    chars += text.length;
    count++;
    if (some.length >= 50) await flush();
    // a random sample of all texts so far
    const place = queries.length < QUERIES ? queries.length : random(count);
    if (place < QUERIES) queries[place] = { id: keptId(textHash(text)), query: queryOf(text) };
  }
  await flush();
  const kept = storing / (chars / 1e6);
  const recall = new Recall({ store: store.recall, flush: async () => {} });
  const pages = (): number => {
    const db = new (sqliteDriver())(path, { readonly: true });
    const bytes = Number(
      db.prepare('SELECT page_count * page_size FROM pragma_page_count, pragma_page_size').pluck().get(),
    );
    db.close();
    return bytes / chars;
  };
  const bytesBefore = pages();
  const scanAt = cpuMs();
  const scanned = await store.recall.scan({
    project: 'p',
    terms: new Map([
      ['retry', false],
      ['payment', false],
      ['queue', true],
    ]),
    files: [],
    limit: 300,
  });
  const scanMs = cpuMs() - scanAt;
  await store.recall.saveFilters(scanned);
  const filterMs = cpuMs() - scanAt - scanMs;
  const [cpu, ms]: [number[], number[]] = [[], []];
  let [first, five] = [0, 0];
  let longest = 0;
  let last = performance.now();
  const watch = setInterval(() => {
    longest = Math.max(longest, performance.now() - last);
    last = performance.now();
  }, 1);
  for (const { id, query } of queries) {
    const [c, t] = [cpuMs(), performance.now()];
    const { hits } = await recall.search({ query, scope: 'project', limit: 8, project: 'p', task: '' });
    cpu.push(cpuMs() - c);
    ms.push(performance.now() - t);
    const place = hits.findIndex(({ prune_id }) => prune_id === id);
    if (place === 0) first++;
    if (place >= 0 && place < 5) five++;
    if (megabytes > 200 && ms.length >= 30) break;
  }
  clearInterval(watch);
  const share = (part: number): string => `${Math.round((100 * part) / ms.length)} %`;
  say(
    `${count} results, ${(chars / 1e6).toFixed(1)} MB; storing ${kept.toFixed(0)} ms of CPU a MB; a scan of all ${scanMs.toFixed(0)} ms, filters ${(filterMs / (chars / 1e6)).toFixed(1)} ms a MB; ${bytesBefore.toFixed(3)} bytes a character, ${pages().toFixed(3)} with filters; first five ${share(five)}, first ${share(first)} of ${ms.length}; CPU p50 ${at(cpu, 0.5)}, p95 ${at(cpu, 0.95)} ms, time p50 ${at(ms, 0.5)}, p95 ${at(ms, 0.95)} ms; event loop held at most ${longest.toFixed(0)} ms`,
  );
  await store.close();
  for (const side of ['', '-wal', '-shm']) rmSync(path + side, { force: true });
}

function queryOf(text: string): string {
  const lines = text.split('\n');
  const from = random(Math.max(1, lines.length - 8));
  const words = [
    ...new Set(
      lines
        .slice(from, from + 8)
        .join(' ')
        .match(/[A-Za-z_]{4,}/g) ?? ['nothing'],
    ),
  ];
  return Array.from({ length: 3 + random(3) }, () => words[random(words.length)] ?? '').join(' ');
}

const sizes = process.argv.slice(2).map(Number);
for (const megabytes of sizes.length > 0 ? sizes : [3, 20, 100]) await run(megabytes);
