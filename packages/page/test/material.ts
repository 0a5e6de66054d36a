import type { ChildRecord } from '@mcp-pruner/fleet/ports.ts';
import { FleetStore } from '@mcp-pruner/fleet/tables/fleet-store.ts';
import type { LedgerSum } from 'mcp-pruner/core/ports/ledger-store.ts';
import { encodeBody } from 'mcp-pruner/store/decision-codec.ts';
import { sqliteDriver } from 'mcp-pruner/store/sqlite/driver.ts';
import { openSqliteStore } from 'mcp-pruner/store/sqlite.ts';
import { serverLog, sourceFile } from '../../../test/helpers/texts.ts';
import { Agent } from '../../context/test/agent.ts';
import { seedLedger } from './month.ts';
import type { Stage } from './stage.ts';

const DAY_MS = 86_400_000;
/** What tools may answer to do harm: markup, a line of a megabyte, text that turns its direction, control characters. */
export const HOSTILE = [
  '<script>window.hit = 1; document.title = "hit"</script>',
  '<img src=x onerror="window.hit = 2">',
  '</code></div><iframe src="javascript:parent.hit=3"></iframe>',
  '"><svg onload=window.hit=4>',
  '&lt;b&gt; {{7*7}} javascript:window.hit=5',
  'مرحبا بالعالم \u202eevil\u202c \u2066isolate\u2069 שלום',
  '\u0000\u0007\u001b[31mred\u001b[0m \u2028 \u2029 lone \ud83d',
  `a line of a megabyte ${'x'.repeat(1_000_000)}`,
].join('\n');

/** An agent that looks for a failing payment: a file, a log with the failure, a hostile answer, and some turns after. */
export async function work(stage: Stage, headers: Record<string, string> = {}): Promise<Agent> {
  const agent = new Agent(stage, stage.upstream, headers);
  const asked = { path: 'src/orders.ts', context_focus_question: 'Where is a voucher counted?' };
  agent.tool('read_file', asked, sourceFile(60), 'I look at the orders first.');
  await agent.send();
  agent.tool('bash', { command: 'npm start' }, serverLog(600), 'Now the log of the server.');
  await agent.send();
  agent.tool('web_fetch', { url: 'https://evil.example' }, `${serverLog(200, 7)}${HOSTILE}\n${serverLog(200, 8)}`);
  await agent.send();
  agent.say('user', 'And now repair it.');
  agent.chatter(2);
  await agent.send();
  return agent;
}

/** A month in the ledger, and for the newest conversation a compaction, a recovery, a priced request; a declared tool. Returns it. */
export async function addHistory(stage: Stage): Promise<string> {
  const read = async (path: string) => (await fetch(`${stage.url}/page/api/${path}`)).json();
  const { prunes } = (await read('prunes')) as { prunes: { pruneId: string }[] };
  const { requests } = (await read('requests?project=default')) as { requests: { conversation: string }[] };
  const [name = ''] = requests.map((one) => one.conversation);
  const ranges = [{ start_line: 5, end_line: 20 }];
  // the newest prunes are those of other projects
  await stage.call('recover_text', { prune_id: prunes.at(-1)?.pruneId, ranges, include_line_numbers: true });
  const nowMs = Date.now();
  const store = openSqliteStore({
    path: stage.dbPath,
    clock: { nowMs: () => nowMs },
    ttlMs: 1e8,
    maxBytes: 1e9,
    maxEvents: 1e6,
  });
  const about = {
    project: 'default',
    client: 'codex',
    product: 'codex',
    model: 'gpt-test',
    session: '',
    tokens: 90_000,
    atMs: nowMs,
  };
  await store.compactions.add({ ...about, continues: name });
  await store.compactions.follow({ project: 'default', session: '', conversation: `${name}-on`, atMs: nowMs });
  await store.close();
  await seedLedger(stage.dbPath, name);
  return name;
}

const BODY = encodeBody({
  ...{ key: '', pruneId: null, textHash: 'h', cuts: [], sourceType: 'logs', kind: 'log', whole: '', warnings: [] },
  ...{ lines: 100, keptLines: 40, tokensBefore: 1000, tokensAfter: 400, goal: '', tool: 'bash' },
});

/**
 * Rows as they would be after many requests in a month: their events, prunes, a thousand conversations, the last with
 * most texts; dollars and cache misses of each, and the sums of 30 days by model, tool and cause in five projects.
 *
 * @param texts - how many prunes and texts, at the most as many as requests
 */
export async function fillStore(path: string, requests: number, texts = requests): Promise<void> {
  const options = { clock: { nowMs: () => Date.now() }, ttlMs: 86_400_000, maxBytes: 1e9, maxEvents: 1_000_000 };
  const store = openSqliteStore({ path, ...options });
  const day = new Date().toISOString().slice(0, 10);
  await store.ledger.add(
    [],
    [{ day, project: 'p', slice: 'all', key: '', field: 'requests', value: requests }, ...monthOfSums()],
  );
  await store.close();
  const db = new (sqliteDriver())(path);
  const nowMs = Date.now();
  const upTo = (most: number): string =>
    `WITH RECURSIVE c (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < ${most})`;
  db.exec(`
    BEGIN;
    ${upTo(requests)} INSERT INTO event (ts_ms, kind, level, run_id, op_id, payload)
      SELECT ${nowMs} - (${requests} - i) * 1000, 'request', 'info', 'c-' || (i % 1000), 'r' || i,
        json_object('wire', 'chat', 'model', 'model-' || (i - 1), 'messages', i % 300, 'tokens_saved', i % 9000,
          'status', 200, 'end', 'answered', 'total_ms', i % 4000) FROM c;
    INSERT INTO snapshot (hash, encoding, packing, text_bytes, stored_bytes, content) VALUES ('h', 0, 2, 1, 1, 1);
    ${upTo(texts)} INSERT INTO prune (prune_id, snapshot, decision_key, body, created_ms, expires_ms)
      SELECT printf('prn_%012d', i), 1, 'k' || i,
        '${BODY}', ${nowMs} - (${texts} - i), ${nowMs} + 80000000 FROM c;
    ${upTo(1_000)} INSERT INTO conversation (project, name, task, turns, base_turn, messages, seen_ms)
      SELECT 'p', 'c-' || i, '', 9, 1, 9, ${nowMs} - (1000 - i) * 1000 FROM c;
    ${upTo(texts)} INSERT INTO segment (project, name, conversation, task, ordinal, first_turn, seen_turn, created_ms, role,
        type, effect, tokens, lines, tool, path, start_line, end_line, call_key, about, mentions, edited)
      SELECT 'p', 's' || i, 1000, '', i, i / 5, 9, ${nowMs}, 'tool', 'code', 'read', 100, 10, 'read', 'f' || i, 0, 0, 0,
        x'', x'', x'' FROM c;
    ${upTo(requests)} INSERT INTO ledger_turn (request_id, at_ms, project, conversation, wire, model, arm, estimated, fresh, write5m,
        write1h, read, output, dollars, dollars_without, removed, removed_new, miss, miss_tokens, miss_dollars, miss_at,
        regret_tokens, regret_dollars)
      SELECT 'r' || i, ${nowMs} - (${requests} - i) * ${Math.floor((30 * DAY_MS) / requests)}, 'p', 'c-' || (i % 1000 + 1),
        CASE i % 3 WHEN 0 THEN 'messages' ELSE 'chat' END, 'm-' || (i % 8), CASE i % 10 WHEN 0 THEN 'control' ELSE 'pruned' END,
        0, 100, 100 * (i % 2), 0, 900, 9, (i % 1000 + 0.5) / 1000, 1, 50, 20,
        CASE WHEN i % 20 = 0 THEN 'expired' WHEN i % 50 = 1 THEN 'message_changed' END, 90 * (i % 20 = 0), 0.01 * (i % 20 = 0), -1, 0, 0
      FROM c;
    COMMIT;
  `);
  db.close();
}

/** Sums of 30 days in five projects, as many as a busy team has. */
function monthOfSums(): LedgerSum[] {
  const sums: LedgerSum[] = [];
  for (let back = 0; back < 30; back++) {
    const day = new Date(Date.now() - back * DAY_MS).toISOString().slice(0, 10);
    for (let p = 0; p < 5; p++) {
      const add = (slice: LedgerSum['slice'], key: string, fields: readonly string[]): void => {
        for (const field of fields) sums.push({ day, project: `p${p}`, slice, key, field, value: 1 + p });
      };
      add('all', '', SUMMED);
      for (let m = 0; m < 8; m++) add('model', `m-${m}`, SUMMED);
      for (let t = 0; t < 24; t++)
        add('tool', `tool-${t}\tkind-${t % 5}`, ['texts', 'cut', 'tokens', 'removed', 'saved', 'regretDollars']);
      for (const cause of ['first_request', 'expired', 'message_changed'])
        add('miss', cause, ['requests', 'tokens', 'dollars']);
      for (const reason of ['small', 'reread', 'named', 'file']) add('whole', reason, ['texts']);
    }
  }
  return sums;
}

const SUMMED = [
  'requests',
  'fresh',
  'write5m',
  'read',
  'output',
  'dollars',
  'without',
  'removed',
  'removedNew',
  'missTokens',
];

/** Writes a child that has said something, and a fact on the blackboard, into the store of a server. */
export async function addFleet(path: string): Promise<void> {
  const options = { clock: { nowMs: () => Date.now() }, ttlMs: 86_400_000, maxBytes: 1e9, maxEvents: 1_000 };
  const store = openSqliteStore({ path, ...options });
  const fleet = new FleetStore(store.sql);
  const about = { runId: null, opId: null, jobId: null, graphId: null, nodeId: null, childId: null };
  const record: ChildRecord = {
    ...{ childId: 'child-1', state: 'terminated', agent: 'codex', command: null, role: 'reviewer', limits: {} },
    ...{ limitsUnenforced: [], metadata: {}, correlation: about, workdir: '/secret', manifestPath: null },
    ...{ tokenHash: 'a-hash', instanceId: 'i', pid: 1, processStart: null, createdMs: Date.now(), startedMs: 1 },
    ...{
      attachedMs: null,
      endedMs: Date.now(),
      exitCode: 0,
      signal: null,
      stopReason: null,
      starts: 1,
      limitsTold: [],
    },
    usage: { messages: 7, tokensIn: 1_200, tokensOut: 34, costUsd: null, wallclockMs: 0 },
  };
  await fleet.children.insert({ record, spec: {} }, 10);
  const line = { tsMs: Date.now(), childId: 'child-1', runId: null, parsed: null };
  await store.records.addChildLogs([
    { ...line, stream: 'stdout', message: '<b>hello</b>' },
    { ...line, stream: 'stderr', message: 'something broke' },
  ]);
  await fleet.board.set([{ key: 'plan:next', namespace: 'plan', value: '1', tags: [], ttlMs: null }], () => []);
  await store.close();
}
