// What the events of a conversation of forty turns cost, beside the time of its requests.
// node bench/run.mjs events-cost [rounds]
import { mkdtempSync, openSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startHttp } from '../../src/app/serve.ts';
import { loadSettings } from '../../src/config/load.ts';
import type { Settings } from '../../src/config/settings.ts';
import { EventLog } from '../../src/core/event-log.ts';
import type { StoredEvent } from '../../src/core/ports.ts';
import { edition } from '../../src/edition.ts';
import { createLog } from '../../src/observe/log.ts';
import { eventsOf } from '../../src/proxy/report/report.ts';
import type { RequestReport } from '../../src/proxy/report/request-report.ts';
import { openSqliteStore } from '../../src/store/sqlite.ts';
import { chatBody } from '../../test/helpers/chat.ts';
import { agentConversation } from '../../test/helpers/conversation.ts';

const TURNS = 40;
const rounds = Number(process.argv[2] ?? 5);
const clock = { nowMs: () => Date.now() };
const folder = mkdtempSync(join(tmpdir(), 'mcp-pruner-bench-'));
const { messages, ends } = agentConversation(TURNS);
const bodies = ends.map((end) => chatBody(messages.slice(0, end)));

const answer = JSON.stringify({ choices: [{ message: { role: 'assistant', content: 'done' } }], usage: {} });
const upstream = createServer((req, res) => {
  req.on('end', () => res.writeHead(200, { 'content-type': 'application/json' }).end(answer)).resume();
});
await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve));
const upstreamUrl = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}/v1`;

function settingsFor(dbPath: string, maxEvents: number): Settings {
  const env = {
    MCP_PRUNER_PORT: '0',
    MCP_PRUNER_UPSTREAM_URL: upstreamUrl,
    MCP_PRUNER_DB_PATH: dbPath,
    MCP_PRUNER_MAX_EVENTS: String(maxEvents),
  };
  const readFile = (): string => {
    throw Object.assign(new Error('no file'), { code: 'ENOENT' });
  };
  return loadSettings({ table: edition.settings, env, platform: 'linux', homeDir: folder, cwd: folder, readFile })
    .settings;
}

function openStore(dbPath: string) {
  return openSqliteStore({ path: dbPath, clock, ttlMs: 1e9, maxBytes: 1e9, maxEvents: 100_000 });
}

/** Sends all turns, one after the other. @returns milliseconds until the last byte of each answer, summed */
async function converse(dbPath: string, maxEvents: number): Promise<number> {
  const log = createLog({ level: 'info', fd: openSync(join(folder, 'log'), 'a') });
  const app = await startHttp(settingsFor(dbPath, maxEvents), { edition, log, version: '0', clock });
  let totalMs = 0;
  for (const body of bodies) {
    const startedAt = performance.now();
    const url = `${app.url}/v1/chat/completions`;
    await (await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body })).text();
    totalMs += performance.now() - startedAt;
  }
  await app.close();
  return totalMs;
}

/** The reports that a conversation's events came from, as far as events are made of them. */
function reportsOf(events: readonly StoredEvent[]): RequestReport[] {
  return events
    .filter(({ kind }) => kind === 'request')
    .map(({ runId, opId }) => {
      const texts = events.filter((event) => event.opId === opId && /^(?:pruned|left_whole)$/.test(event.kind));
      return {
        requestId: opId ?? '',
        small: 0,
        unexamined: '',
        foreign: false,
        wire: 'chat',
        verifiesHistory: 'never',
        conversationId: runId,
        model: 'gpt-test',
        stream: false,
        messages: 1,
        outcomes: texts.map(({ payload }) => ({
          messageIndex: 1,
          tool: String(payload.tool),
          kind: 'log',
          pruneId: payload.prune_id === undefined ? null : String(payload.prune_id),
          whole: 'short',
          lines: 1,
          keptLines: 1,
          tokensBefore: 1,
          tokensAfter: 1,
        })),
        newFrom: 0,
        forwardedOriginal: false,
        bytesIn: 1,
        bytesOut: 1,
        fallbacks: [],
        pruneMs: 1,
        firstByteMs: 1,
        totalMs: 1,
        status: 200,
        end: 'answered',
        upstreamError: null,
        usage: null,
      };
    });
}

/** Makes and writes the events of a conversation once, request by request and in writes as often as the proxy's. */
async function eventsOnce(reports: readonly RequestReport[], writes: number, dbPath: string): Promise<number> {
  const store = openStore(dbPath);
  await store.stats(); // the file is made
  const log = new EventLog({ store, maxEvents: 100_000, onFailure: (_reason, cause) => Promise.reject(cause) });
  const every = Math.ceil(reports.length / writes);
  const startedAt = performance.now();
  for (const [i, report] of reports.entries()) {
    log.add(eventsOf(report, 1, 0, false));
    if ((i + 1) % every === 0) await log.flush();
  }
  await log.flush();
  const ms = performance.now() - startedAt;
  await store.close();
  return ms;
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

try {
  await converse(join(folder, 'warm.db'), 100_000);
  const [withEvents, without]: [number[], number[]] = [[], []];
  for (let round = 0; round < rounds; round++) {
    const order = round % 2 === 0 ? [100_000, 0] : [0, 100_000];
    for (const maxEvents of order) {
      const ms = await converse(join(folder, `${round}-${maxEvents}.db`), maxEvents);
      (maxEvents > 0 ? withEvents : without).push(ms);
    }
  }
  const store = openStore(join(folder, '0-100000.db'));
  const events = await store.events({ fromSeq: 0, limit: 10_000 });
  await store.close();
  const reports = reportsOf(events);
  const requestMs = median(withEvents);
  // a busy agent's turns share a write every half second; those of a slow one have a write each
  const shared = Math.max(1, Math.ceil(requestMs / 500));
  const costs: string[] = [];
  for (const writes of [shared, TURNS]) {
    const times: number[] = [];
    for (let i = 0; i < 15; i++) times.push(await eventsOnce(reports, writes, join(folder, `cost-${writes}-${i}.db`)));
    const share = ((100 * median(times)) / requestMs).toFixed(2);
    costs.push(`making and writing the events in ${writes} writes: ${median(times).toFixed(2)} ms, ${share} % of that`);
  }
  const spread = without.map((ms) => Math.round(ms)).join(' ');
  process.stdout.write(
    [
      `${TURNS} turns, ${events.length} events, ${rounds} rounds each, medians`,
      `requests with events    ${requestMs.toFixed(0)} ms (${withEvents.map((ms) => Math.round(ms)).join(' ')})`,
      `requests without        ${median(without).toFixed(0)} ms (${spread})`,
      ...costs,
      '',
    ].join('\n'),
  );
} finally {
  upstream.close();
  upstream.closeAllConnections();
  rmSync(folder, { recursive: true, force: true });
}
