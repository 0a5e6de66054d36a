import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { run } from '../../../test/cli/fake-io.ts';
import { afterwards, tempFolder } from '../../../test/helpers/afterwards.ts';
import { compiled } from '../../../test/helpers/built.ts';
import { chatBody, oneResult } from '../../../test/helpers/chat.ts';
import { completion, startUpstream } from '../../../test/helpers/fake-upstream.ts';
import { startProxy } from '../../../test/helpers/proxy.ts';
import { serverLog } from '../../../test/helpers/texts.ts';
import { until } from '../../../test/helpers/until.ts';
import { formatSavings } from '../src/report/status.ts';

/** A port of loopback that nobody listens on. */
async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  server.close();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return address.port;
}

const clock = { nowMs: () => Date.now() };

describe('mcp-pruner status', () => {
  it('reports a running proxy and its savings, as text for a person and as JSON for a hook', async () => {
    const proxy = await startProxy(await startUpstream(completion()));
    const env = { MCP_PRUNER_PORT: new URL(proxy.url).port, MCP_PRUNER_DB_PATH: proxy.dbPath };
    const idle = await run(['status'], { env, clock });
    expect(idle).toEqual({
      code: 0,
      out: `mcp-pruner: the proxy runs at ${proxy.url}; no request in 7 days\n`,
      err: '',
    });
    const body = { model: 'gpt-5', messages: [{ role: 'user', content: 'hello' }] };
    await (await fetch(`${proxy.url}/v1/chat/completions`, { method: 'POST', body: JSON.stringify(body) })).text();
    await expect
      .poll(async () => (await run(['status', '--hook'], { env, clock })).out)
      .toMatch(/^\{"systemMessage":"mcp-pruner: the proxy runs at \S+; 0 tokens saved.* in 7 days"\}\n$/);
  });

  it('reports in 60 columns that the store of the proxy cannot be read here', async () => {
    const proxy = await startProxy(await startUpstream());
    const env = { MCP_PRUNER_PORT: new URL(proxy.url).port, MCP_PRUNER_DB_PATH: '/nowhere/store.db' };
    const { code, out } = await run(['status'], { env, clock, columns: 60 });
    expect([code, out.replaceAll('\n  ', ' ')]).toEqual([
      0,
      expect.stringMatching(/runs at \S+; what it saved cannot be read here: there is no store at .* uses another/),
    ]);
    expect(out.split('\n').filter(({ length }) => length > 60)).toEqual([]);
  });

  it('names the newest conversation by its title, but not in a hook', async () => {
    const proxy = await startProxy(await startUpstream());
    const env = { MCP_PRUNER_PORT: new URL(proxy.url).port, MCP_PRUNER_DB_PATH: proxy.dbPath };
    await (await proxy.chat(chatBody(oneResult(serverLog(300))))).text();
    const { out } = await until(async () => {
      const ran = await run(['status'], { env, clock });
      return ran.out.includes('newest') && ran;
    });
    expect(out).toMatch(/ in 7 days; newest: "\w[^"]+" \(default\)\n$/);
    expect((await run(['status', '--hook'], { env, clock })).out).not.toContain('newest');
  });

  it('reports avoided compactions, and dollars if prices are known', () => {
    const totals = { requests: 4, unpriced: 0, removedNew: 1_234_567, net: 3.456 };
    const avoided = (count: number) => ({ avoided: count });
    expect(formatSavings({ totals, compactions: avoided(0) })).toBe('1.2M tokens saved ($3.46)');
    expect(formatSavings({ totals, compactions: avoided(1) })).toBe('1.2M tokens saved ($3.46), 1 compaction avoided');
    const unpriced = { totals: { ...totals, unpriced: 4 }, compactions: avoided(12) };
    expect(formatSavings(unpriced)).toBe('1.2M tokens saved, 12 compactions avoided');
  });

  it('warns only an agent whose requests go to a proxy that does not run', async () => {
    const port = await freePort();
    const env = { MCP_PRUNER_PORT: String(port), MCP_PRUNER_DB_PATH: join(tempFolder(), 'store.db') };
    expect(await run(['status'], { env })).toMatchObject({ code: 1, out: expect.stringContaining('no proxy runs') });
    expect(await run(['status', '--hook'], { env })).toEqual({ code: 0, out: '', err: '' });
    const led = { ...env, ANTHROPIC_BASE_URL: `http://127.0.0.1:${port}` };
    const { code, out } = await run(['status', '--hook'], { env: led });
    expect([code, JSON.parse(out)]).toEqual([
      0,
      { systemMessage: expect.stringMatching(/serve.*setup <agent> --undo/) },
    ]);
  });

  it('starts the proxy from a hook if the user allowed it, with its log where only the user can read it', async () => {
    const home = tempFolder();
    mkdirSync(join(home, 'tmp'));
    const port = await freePort();
    const env = {
      ...{ PATH: process.env.PATH ?? '', HOME: home, MCP_PRUNER_START_FROM_HOOK: 'true' },
      ...{ MCP_PRUNER_PORT: String(port), MCP_PRUNER_DB_PATH: ':memory:', TMPDIR: join(home, 'tmp') },
    };
    const hook = spawn(process.execPath, [compiled('cli.js'), 'status', '--hook'], { env, cwd: home });
    let out = '';
    hook.stdout.setEncoding('utf8').on('data', (text: string) => (out += text));
    await once(hook, 'close');
    const log = (): string => readFileSync(join(home, '.local/share/mcp-pruner/serve.log'), 'utf8');
    await expect.poll(log).toMatch(/"pid":\d+/);
    const pid = Number(/"pid":(\d+)/.exec(log())?.[1]);
    afterwards(() => process.kill(pid, 'SIGTERM'));
    expect((await fetch(`http://127.0.0.1:${port}/health`)).status).toBe(200);
    expect(out).toContain(`the proxy runs at http://127.0.0.1:${port}`);
    expect(pid).toBeGreaterThan(0);
    expect(readdirSync(join(home, 'tmp'))).toEqual([]);
    expect(statSync(join(home, '.local/share/mcp-pruner/serve.log')).mode & 0o077).toBe(0);
  });
});
