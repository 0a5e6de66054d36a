import { join } from 'node:path';
import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { sqliteDriver } from '../../src/store/sqlite/driver.ts';
import { tempFolder } from '../helpers/afterwards.ts';
import { chatBody, contentAt, oneResult } from '../helpers/chat.ts';
import { startUpstream } from '../helpers/fake-upstream.ts';
import { markersIn, rebuild } from '../helpers/markers.ts';
import { hasPostgres, newDatabase, runSql } from '../helpers/postgres.ts';
import { startProxy } from '../helpers/proxy.ts';
import { PRUNE_OPTIONS } from '../helpers/prune-options.ts';
import { serverLog } from '../helpers/texts.ts';
import { until } from '../helpers/until.ts';
import { ask } from '../mcp/helpers/product.ts';

interface Stored {
  readonly data: Buffer;
  /** 1: compressed, 2: not, and not to be. */
  readonly packing: 1 | 2;
}

/** What is found in the place of the stored form of a text. */
const DAMAGES = {
  'another line': (text: string): Stored => ({ data: Buffer.from(text.replace('INFO', 'WARN')), packing: 2 }),
  'no compressed text': (text: string): Stored => ({ data: Buffer.from(text.slice(0, 99)), packing: 1 }),
} as const;

interface Place {
  readonly env: Readonly<Record<string, string>>;
  /** Puts it in the place of every original. */
  readonly damage: (stored: Stored) => Promise<void>;
}

async function onFile(): Promise<Place> {
  const path = join(tempFolder(), 'store.db');
  const damage = async ({ data, packing }: Stored): Promise<void> => {
    const db = new (sqliteDriver())(path, { timeout: 5_000 });
    db.transaction(() => {
      db.prepare('UPDATE content SET data = ?').run(data);
      db.prepare('UPDATE snapshot SET packing = ?').run(packing);
    })();
    db.close();
  };
  return { env: { MCP_PRUNER_DB_PATH: path }, damage };
}

const onPostgres = async (): Promise<Place> => onDatabase(await newDatabase());

function onDatabase(url: string): Place {
  const damage = async ({ data, packing }: Stored): Promise<void> => {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    await client.query('UPDATE mcp_pruner.snapshot SET data = $1, packing = $2', [data, packing]);
    await client.end();
  };
  return { env: { MCP_PRUNER_DATABASE_URL: url }, damage };
}

describe.each([
  { on: 'a file', open: onFile, runs: true },
  { on: 'PostgreSQL', open: onPostgres, runs: hasPostgres },
])('an original that was damaged on $on', ({ open, runs }) => {
  it.skipIf(!runs).each(Object.entries(DAMAGES))(
    'is never returned, causes an event, and is stored again by the next turn of its conversation: %s',
    async (_what, how) => {
      const { env, damage } = await open();
      const upstream = await startUpstream();
      const proxy = await startProxy(upstream, { env: { MCP_PRUNER_ENABLE: 'events-bus', ...env } });
      const text = serverLog(200, 1);
      const messages = oneResult(text);
      await (await proxy.chat(chatBody(messages))).text();
      const sent = contentAt(upstream.last.body, -1);
      const [{ pruneId = '' } = {}] = markersIn(sent);
      await damage(how(text));

      const args = { prune_id: pruneId, ranges: [{ start_line: 1, end_line: 200 }], include_line_numbers: false };
      const refused = await proxy.call('recover_text', args);
      expect(refused.error).toMatchObject({ code: -32004, data: { prune_id: pruneId } });
      const event = await until(async () => {
        const { events } = await ask<{ events: { kind: string; payload: object }[] }>(proxy, 'events_watch');
        return events.find(({ kind }) => kind === 'corrupt');
      });
      expect(event).toMatchObject({ level: 'error', payload: { prune_id: pruneId } });

      const next = [...messages, { role: 'assistant', content: 'I see.' }, { role: 'user', content: 'Go on.' }];
      await (await proxy.chat(chatBody(next))).text();
      expect(contentAt(upstream.last.body, messages.length - 1)).toBe(sent);
      expect(await rebuild(sent, proxy)).toBe(text);
    },
  );

  it.skipIf(!runs)('is stored again by the next prune_text of the same text', async () => {
    const { env, damage } = await open();
    const proxy = await startProxy('http://127.0.0.1:1', { env });
    const text = serverLog(200, 2);
    const options = { ...PRUNE_OPTIONS, min_keep_lines: 1 };
    const args = { text, goal_hint: 'payment', source_type: 'logs', options };
    const { prune_id } = await ask<{ prune_id: string }>(proxy, 'prune_text', args);
    await damage(DAMAGES['another line'](text));
    await expect(proxy.recover(prune_id, 1, 5)).rejects.toThrow('-32004');
    expect(await ask(proxy, 'prune_text', args)).toMatchObject({ prune_id });
    expect(await proxy.recover(prune_id, 1, 200)).toBe(text.replace(/\n$/, ''));
  });
});

it.skipIf(!hasPostgres)('a damaged text is deleted although another prune of it is just being stored', async () => {
  const url = await newDatabase();
  const { env, damage } = onDatabase(url);
  const upstream = await startUpstream();
  const proxy = await startProxy(upstream, { env });
  const text = serverLog(200, 3);
  const messages = oneResult(text);
  await (await proxy.chat(chatBody(messages))).text();
  const sent = contentAt(upstream.last.body, -1);
  const [{ pruneId = '' } = {}] = markersIn(sent);
  await damage(DAMAGES['another line'](text));

  const other = new pg.Client({ connectionString: url });
  await other.connect();
  await other.query('BEGIN');
  await other.query(
    `INSERT INTO mcp_pruner.prune (prune_id, snapshot, decision_key, body, created_ms, expires_ms)
     SELECT 'prn_000000000000', snapshot, 'another key', body, created_ms, expires_ms
     FROM mcp_pruner.prune WHERE prune_id = $1`,
    [pruneId],
  );
  const refused = expect(proxy.recover(pruneId, 1, 5)).rejects.toThrow('-32004');
  const waits = `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()`;
  await until(async () => (await runSql(url, waits)).length > 0);
  await other.query('COMMIT');
  await other.end();
  await refused;

  const next = [...messages, { role: 'assistant', content: 'I see.' }, { role: 'user', content: 'Go on.' }];
  await (await proxy.chat(chatBody(next))).text();
  expect(await rebuild(sent, proxy)).toBe(text);
});
