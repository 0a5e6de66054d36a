import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import type { Command } from '../../src/cli/command.ts';
import { type Running, type Start, serveCommand } from '../../src/cli/serve.ts';
import { readLocalToken } from '../../src/config/local-token.ts';
import { edition } from '../../src/edition.ts';
import { tempFolder } from '../helpers/afterwards.ts';
import { fakeIo } from './fake-io.ts';

const servers: Server[] = [];

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => new Promise((resolve) => server.close(resolve))));
});

function callOf(values: Record<string, string> = {}) {
  return { values, positionals: [] };
}

/** `serve` over a server that is only played, silent in the log. */
function serve(start: Start, env: Record<string, string> = {}) {
  const process = fakeIo({ env: { MCP_PRUNER_LOG_LEVEL: 'silent', ...env } });
  const command: Command = serveCommand(edition, async () => start);
  return { ...process, run: (values: Record<string, string> = {}) => command.run(callOf(values), process.io) };
}

const idle: Running = { url: 'http://127.0.0.1:1', close: async () => {} };

/** Waits until `serve` listens for signals. */
async function ready(events: ReturnType<typeof fakeIo>['events']): Promise<void> {
  await expect.poll(() => events.listenerCount('SIGINT')).toBe(1);
}

describe('mcp-pruner serve', () => {
  it.each(['SIGTERM', 'SIGINT'])('lets the server finish on %s and exits with code 0', async (signal) => {
    let closed = false;
    const close = async (): Promise<void> => {
      closed = true;
    };
    const { run, events, exits } = serve(async () => ({ ...idle, close }));
    const code = run();
    await ready(events);
    events.emit(signal);
    expect(await code).toBe(0);
    expect(closed).toBe(true);
    expect(exits).toEqual([]);
  });

  it('exits at once on a second Ctrl-C, but not on the echo of the first', async () => {
    let finish = (): void => {};
    const close = (): Promise<void> =>
      new Promise((resolve) => {
        finish = resolve;
      });
    const { run, events, exits } = serve(async () => ({ ...idle, close }));
    const code = run();
    await ready(events);
    events.emit('SIGINT');
    events.emit('SIGINT');
    expect(exits).toEqual([]);
    await expect
      .poll(
        () => {
          events.emit('SIGINT');
          return exits;
        },
        { interval: 60 },
      )
      .toContain(130);
    finish();
    await code;
  });

  it('continues after an uncaught error', async () => {
    const { run, events, exits } = serve(async () => idle);
    const code = run();
    await ready(events);
    events.emit('uncaughtException', new Error('a bug'));
    events.emit('unhandledRejection', new Error('another'));
    expect(exits).toEqual([]);
    events.emit('SIGTERM');
    expect(await code).toBe(0);
  });

  it('passes the settings of the command line to the server', async () => {
    const seen: unknown[] = [];
    const start: Start = async (settings, { version }) => {
      seen.push(settings.port, settings.host, settings.upstreamUrl, version);
      return idle;
    };
    const { run, events } = serve(start, { MCP_PRUNER_PORT: '5' });
    const code = run({ port: '7', host: 'localhost', 'upstream-url': 'http://localhost:1/v1' });
    await ready(events);
    events.emit('SIGTERM');
    await code;
    expect(seen).toEqual([7, 'localhost', 'http://localhost:1/v1', '9.8.7']);
  });

  it("creates this user's token if MCP_PRUNER_LOCAL_TOKEN is set, and the server requires it", async () => {
    const folder = tempFolder();
    const seen: (string | null)[] = [];
    const start: Start = async ({ authToken }) => {
      seen.push(authToken);
      return idle;
    };
    for (const localToken of ['auto', 'off']) {
      const env = { MCP_PRUNER_LOCAL_TOKEN: localToken, MCP_PRUNER_DB_PATH: join(folder, 'store.db') };
      const { run, events } = serve(start, env);
      const code = run();
      await ready(events);
      events.emit('SIGTERM');
      await code;
    }
    expect(seen).toEqual([readLocalToken(join(folder, 'local-token')), null]);
    expect(seen[0]).toHaveLength(43);
  });

  it('does not start on an address that others can reach without a token', async () => {
    let started = false;
    const { run } = serve(async () => {
      started = true;
      return idle;
    });
    await expect(run({ host: '0.0.0.0' })).rejects.toThrow(/MCP_PRUNER_AUTH_TOKEN/);
    expect(started).toBe(false);
  });

  it('reports in one line that the port is in use, the likely process, and how to choose another', async () => {
    const holder = createServer();
    servers.push(holder);
    await new Promise<void>((resolve) => holder.listen(0, '127.0.0.1', resolve));
    const address = holder.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const listen: Start = ({ host, port }) =>
      new Promise((_, reject) => {
        createServer().once('error', reject).listen(port, host);
      });
    const { run } = serve(listen, { MCP_PRUNER_PORT: String(port) });
    const message = await run().then(
      () => '',
      (error: unknown) => String(error),
    );
    for (const part of [`127.0.0.1:${port} is already in use`, '/health', `lsof -i :${port}`, `--port ${port + 1}`]) {
      expect(message).toContain(part);
    }
    expect(message).not.toContain('\n');
  });
});
