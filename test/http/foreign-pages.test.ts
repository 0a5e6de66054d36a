import { describe, expect, it } from 'vitest';
import { sqliteDriver } from '../../src/store/sqlite/driver.ts';
import { chatBody, oneResult } from '../helpers/chat.ts';
import { startUpstream } from '../helpers/fake-upstream.ts';
import { startProxy } from '../helpers/proxy.ts';
import { serverLog } from '../helpers/texts.ts';
import { send } from '../helpers/wire.ts';

const Database = sqliteDriver();

const BODY = chatBody(oneResult(serverLog(300)));

async function ask(headers: Record<string, string>, env: Record<string, string> = {}) {
  const upstream = await startUpstream();
  const proxy = await startProxy(upstream, { env });
  const answer = await send(`${proxy.url}/v1/chat/completions`, { method: 'POST', headers, body: BODY });
  expect(answer.status).toBe(200);
  const [line] = await proxy.requestLines(1);
  return { proxy, line, asItCame: upstream.last.body.equals(BODY) };
}

describe('a request that a foreign web page may have sent', () => {
  it.each<[string, Record<string, string>]>([
    ['Origin of another site', { origin: 'https://evil.example', 'content-type': 'text/plain' }],
    ['Origin of another port of this machine', { origin: 'http://localhost:3000' }],
    ['Origin null', { origin: 'null' }],
    ['Host that was pointed here', { host: 'evil.example:8006' }],
    ['Sec-Fetch-Site alone', { 'sec-fetch-site': 'cross-site' }],
  ])('(%s) is forwarded unchanged, unread and unstored', async (_name, headers) => {
    const { proxy, line, asItCame } = await ask(headers);
    expect(asItCame).toBe(true);
    expect(line).toMatchObject({ model: '', candidates: 0, fallbacks: ['foreign_origin'] });
    await proxy.stop(); // writes what waits
    expect(rowsIn(proxy.dbPath)).toEqual([]);
  });

  it.each<[string, Record<string, string>]>([
    ['Origin and Host', { host: 'evil.example:8006', origin: 'http://evil.example:8006' }],
    ['Sec-Fetch-Site and Host', { host: 'evil.example', 'sec-fetch-site': 'same-origin' }],
  ])('is refused if its name was pointed here, so that it could read the answer (%s)', async (_name, headers) => {
    const upstream = await startUpstream();
    const proxy = await startProxy(upstream);
    const answer = await send(`${proxy.url}/v1/chat/completions`, { method: 'POST', headers, body: BODY });
    expect([answer.status, answer.body.toString()]).toEqual([403, expect.stringContaining('forbidden_host')]);
    expect(upstream.requests).toEqual([]);
  });

  it('is distinguished from requests of an allowed page or a program', async () => {
    const env = { MCP_PRUNER_ALLOWED_ORIGINS: 'http://localhost:3000', MCP_PRUNER_ALLOWED_HOSTS: 'box' };
    const allowed: Record<string, string>[] = [{}, { origin: 'http://localhost:3000' }, { host: 'box:1' }];
    for (const headers of allowed) {
      const { proxy, line, asItCame } = await ask(headers, env);
      expect([headers, asItCame, line?.fallbacks]).toEqual([headers, false, undefined]);
      await proxy.stop();
      expect(rowsIn(proxy.dbPath).length).toBeGreaterThan(2);
    }
  });

  it('is forwarded unread, even if its body is expensive to read', async () => {
    const upstream = await startUpstream();
    const proxy = await startProxy(upstream);
    const hostile = Buffer.from(`{"messages":[${'1,'.repeat(2_000_000)}1]}`);
    const headers = { origin: 'https://evil.example', 'content-type': 'text/plain' };
    await send(`${proxy.url}/v1/chat/completions`, { method: 'POST', headers, body: hostile });
    const [line] = await proxy.requestLines(1);
    expect(line).toMatchObject({ pruneMs: 0, messages: 0, bytesIn: 0 });
    expect(upstream.last.body.equals(hostile)).toBe(true);
  });
});

/** Tables that hold something, but for what every store holds. */
function rowsIn(path: string): string[] {
  const db = new Database(path, { readonly: true });
  try {
    const names = db.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").pluck().all() as string[];
    return names.filter(
      (name) =>
        /^(?:event|usage|prune|decision|snapshot|segment|text)/.test(name) &&
        db.prepare(`SELECT 1 FROM "${name}"`).get(),
    );
  } finally {
    db.close();
  }
}
