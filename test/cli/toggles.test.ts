import { describe, expect, it } from 'vitest';
import type { Io } from '../../src/cli/command.ts';
import { serveCommand } from '../../src/cli/serve.ts';
import type { Settings } from '../../src/config/settings.ts';
import { edition } from '../../src/edition.ts';
import { fakeIo } from './fake-io.ts';

/** Runs `serve` with these boolean options up to its start, and gives back the settings it starts with. */
async function startedWith(options: readonly string[], env: Io['env'] = {}): Promise<Settings> {
  let started: Settings | undefined;
  const { io, events } = fakeIo({ env: { MCP_PRUNER_LOG_LEVEL: 'silent', ...env }, readFile: noFile });
  const command = serveCommand(edition, async () => async (settings) => {
    started = settings;
    setImmediate(() => events.emit('SIGTERM'));
    return { url: 'http://127.0.0.1:1', close: async () => {} };
  });
  const values = Object.fromEntries(options.map((option) => [option, true]));
  await command.run({ values, positionals: [] }, io);
  if (started === undefined) throw new Error('nothing was started');
  return started;
}

function noFile(): never {
  throw Object.assign(new Error('no file'), { code: 'ENOENT' });
}

const features = ['resources', 'events-bus', 'idempotency', 'bulk'];

describe('the toggles of mcp-pruner serve', () => {
  it('are off by default, except introspection', async () => {
    expect((await startedWith([])).enable).toEqual(['mcp-introspection']);
  });

  it('are switched by --enable and --disable, which override the environment', async () => {
    const on = await startedWith(features.map((name) => `enable-${name}`));
    expect(on.enable).toEqual(['mcp-introspection', ...features]);
    const env = { MCP_PRUNER_ENABLE: 'resources,bulk,-tx' };
    const some = await startedWith(['disable-resources', 'disable-mcp-introspection', 'enable-tx'], env);
    expect(some.enable).toEqual(['bulk', 'tx', 'graphs']);
  });

  it('cannot be both enabled and disabled', async () => {
    await expect(startedWith(['enable-bulk', 'disable-bulk'])).rejects.toThrow(
      '--enable-bulk and --disable-bulk exclude each other',
    );
  });
});
