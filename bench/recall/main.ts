/**
 * How large the index of recall is and how fast it answers. `npm run bench recall [results] [characters] [store]`: results of
 * that length are made of the repository's own lines, in blocks of ten, with names and numbers that are new in each. A
 * store that is named, by its file or its postgres:// URL, stays and is searched again by the next run.
 */
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { textHash } from '../../src/core/hash.ts';
import { keptText } from '../../src/core/recall/kept-text.ts';
import { Recall } from '../../src/core/recall/recall.ts';
import { connectionConfig } from '../../src/parts/team/postgres/connection-config.ts';
import { openPostgresStore } from '../../src/parts/team/postgres/store.ts';
import { sqliteDriver } from '../../src/store/sqlite/driver.ts';
import { openSqliteStore } from '../../src/store/sqlite.ts';
import { encodeText, packBytes } from '../../src/store/text-codec.ts';

const [count = 20_000, chars = 10_000] = process.argv.slice(2).map(Number);
const SAMPLE = 500;
const QUERIES = 300;

let seed = 1;
const random = (below: number): number => {
  seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
  return Math.floor((seed / 2 ** 32) * below);
};

const root = process.cwd();
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const blocks = ['src', 'test', 'docs'].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.(?:ts|tsx|md)$/.test(file))
    .flatMap((file) => {
      const lines = readFileSync(join(root, folder, file), 'utf8').split('\n');
      return Array.from({ length: Math.ceil(lines.length / 10) }, (_, i) =>
        lines.slice(i * 10, i * 10 + 10).join('\n'),
      );
    }),
);

function aText(i: number): string {
  let text = `result ${i} of run${random(1e6).toString(36)}\n`;
  while (text.length < chars) text += `${blocks[random(blocks.length)]}\nid ${random(2 ** 31).toString(36)}\n`;
  return text;
}

const [, , , , kept] = process.argv;
const path = kept ?? join(tmpdir(), `recall-bench-${process.pid}.db`);
const isDatabase = path.startsWith('postgres');
const clock = { nowMs: () => Date.now() };
const limits = { clock, ttlMs: 1e12, maxBytes: 1e15, maxEvents: 0 };
const wasThere = existsSync(path);
const store = isDatabase ? openPostgresStore({ url: path, ...limits }) : openSqliteStore({ path, ...limits });
await store.ready();
const isThere = isDatabase ? (await store.stats()).prunes > 0 : wasThere;
let raw = 0;
let packed = 0;
for (let i = 0; i < count && !isThere; i += 50) {
  const some = Array.from({ length: Math.min(50, count - i) }, (_, k) => aText(i + k));
  for (const [k, text] of some.entries()) {
    raw += text.length;
    if (i + k < SAMPLE) packed += (await packBytes(encodeText(text).data)).data.length;
  }
  const kept = some.map((text) => keptText(text, textHash(text), 'read_file'));
  await store.commit({ decisions: kept, touch: [] }, 60_000);
  await store.recall.keep(
    [],
    kept.map(({ decision, text }, k) => {
      const file = `src/folder${random(200)}/file${random(2_000)}.ts`;
      const of = {
        project: 'p',
        conversationId: `c${i % 97}`,
        task: '',
        ordinal: i + k,
        tool: 'read_file',
        path: file,
      };
      return { ...of, about: file, pruneId: decision.pruneId ?? '', call: file, chars: text.length, atMs: Date.now() };
    }),
  );
}
const began = process.cpuUsage();
const steps: number[] = [];
const worksOf = (since: NodeJS.CpuUsage): number => {
  const { user, system } = process.cpuUsage(since);
  return (user + system) / 1000;
};
for (let more = true; more; ) {
  const at = process.cpuUsage();
  more = (await store.recall.index()) || (await store.recall.merge());
  steps.push(worksOf(at));
}
const cpu = process.cpuUsage(began);
/** Bytes of the index, and of the whole store. */
async function sizes(): Promise<{ readonly index: number; readonly all: number }> {
  if (!isDatabase) {
    const db = new (sqliteDriver())(path, { readonly: true });
    const blocks =
      'SELECT (SELECT sum(length(block)) FROM recall_word_data) + (SELECT sum(length(block)) FROM recall_name_data)';
    const index = Number(db.prepare(blocks).pluck().get());
    db.close();
    return { index, all: statSync(path).size };
  }
  const client = new pg.Client(connectionConfig(path));
  await client.connect();
  await client.query('VACUUM ANALYZE mcp_pruner.recall');
  const { rows } = await client.query<{ index: string; all: string }>(
    `SELECT pg_relation_size('mcp_pruner.recall_words') + coalesce(pg_relation_size(to_regclass('mcp_pruner.recall_trigrams')), 0)
       + (SELECT sum(pg_column_size(words) + pg_column_size(names)) FROM mcp_pruner.recall) AS index,
       pg_database_size(current_database()) AS all`,
  );
  await client.end();
  return { index: Number(rows[0]?.index), all: Number(rows[0]?.all) };
}
const { index, all } = await sizes();
const recall = new Recall({ store: store.recall, flush: async () => {}, indexes: true });
const words = blocks.join(' ').match(/[A-Za-z]{3,}/g) ?? [];
const times: number[] = [];
const worked: number[] = [];
for (let i = 0; i < QUERIES; i++) {
  const query = Array.from({ length: 1 + random(8) }, () => words[random(words.length)]).join(' ');
  const at = performance.now();
  const cpuAt = process.cpuUsage();
  await recall.search({ query, scope: 'project', limit: 8, project: 'p', task: '' });
  times.push(performance.now() - at);
  worked.push(worksOf(cpuAt));
}
const at = (values: readonly number[], share: number): number =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? 0;
const whole = (packed / Math.min(count, SAMPLE)) * count;
say(`store ${Math.round(all / 1e6)} MB, index ${Math.round(index / 1e6)} MB`);
if (!isThere) {
  say(`${count} results, ${Math.round(raw / 1e6)} MB, compressed ${Math.round(whole / 1e6)} MB`);
  say(`index ${(index / whole).toFixed(2)} of the compressed texts`);
  say(
    `indexing ${((cpu.user + cpu.system) / 1000 / count).toFixed(2)} ms of CPU a result; a step's p95 ${at(steps, 0.95).toFixed(1)}, p99 ${at(steps, 0.99).toFixed(1)} ms`,
  );
}
say(
  `a search p50 ${at(times, 0.5).toFixed(1)}, p95 ${at(times, 0.95).toFixed(1)}, p99 ${at(times, 0.99).toFixed(1)} ms; CPU p50 ${at(worked, 0.5).toFixed(1)}, p95 ${at(worked, 0.95).toFixed(1)} ms`,
);
await store.close();
for (const side of kept ? [] : ['', '-wal', '-shm']) rmSync(path + side, { force: true });
