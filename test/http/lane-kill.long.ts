import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { sqliteDriver } from '../../src/store/sqlite/driver.ts';
import { tempFolder } from '../helpers/afterwards.ts';
import { chatBody, type Message, oneResult, toolTurn } from '../helpers/chat.ts';
import { json, startUpstream } from '../helpers/fake-upstream.ts';
import { startServerProcess } from '../helpers/server-process.ts';
import { serverLog } from '../helpers/texts.ts';

/** Figures are written once a second; the rest is for a busy machine. */
const MAX_LOST_MS = 3_000;
const SENT_MS = 6_000;
const ROUNDS = 3;

/** Request ids in the ledger of a store. */
function billedIn(dbPath: string): Set<string> {
  const db = new (sqliteDriver())(dbPath, { readonly: true });
  const ids = db.prepare<[], string>('SELECT request_id FROM ledger_turn').pluck().all();
  db.close();
  return new Set(ids);
}

it('a killed server loses a moment of figures, and no decision', { timeout: 180_000 }, async () => {
  const usage = { prompt_tokens: 900, completion_tokens: 7 };
  const upstream = await startUpstream((_request, res) => json(res, 200, { choices: [], usage }));
  const dbPath = join(tempFolder(), 'store.db');
  const env = { MCP_PRUNER_DB_PATH: dbPath, MCP_PRUNER_UPSTREAM_URL: `${upstream.url}/v1` };
  const messages: Message[] = [...oneResult(serverLog(400))];
  const ended: { id: string; atMs: number }[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const server = await startServerProcess({ env });
    const sinceMs = performance.now();
    while (performance.now() - sinceMs < SENT_MS + round * 170) {
      const answer = await server.chat(chatBody(messages));
      await answer.text();
      ended.push({ id: answer.headers.get('x-mcp-pruner-request-id') ?? '', atMs: performance.now() });
      await pause(20);
    }
    // the newest decision is a fraction of a second old when the server is killed
    const text = serverLog(400, round + 2);
    messages.push(
      { role: 'assistant', content: 'Next.' },
      ...toolTurn(`next_${round}`, 'bash', { command: `run ${round}` }, text),
    );
    await (await server.chat(chatBody(messages))).text();
    const cut = upstream.last.body;
    const killedMs = performance.now();
    server.kill('SIGKILL');
    await server.ended();
    const billed = billedIn(dbPath);
    const old = ended.filter(({ atMs }) => killedMs - atMs > MAX_LOST_MS);
    expect(old.length).toBeGreaterThan(10);
    expect(old.filter(({ id }) => !billed.has(id))).toEqual([]);
    ended.length = 0;
    const next = await startServerProcess({ env });
    await (await next.chat(chatBody(messages))).text();
    expect(upstream.last.body.equals(cut)).toBe(true);
    expect(String(cut).split('prune_id=prn_').length).toBeGreaterThan(round + 2);
    next.kill('SIGTERM');
    await next.ended();
  }
});
