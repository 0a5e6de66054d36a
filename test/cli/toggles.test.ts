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

const toggles = {
  resources: 'enableResources',
  'events-bus': 'enableEventsBus',
  idempotency: 'enableIdempotency',
  bulk: 'enableBulk',
} as const;

describe('the toggles of mcp-pruner serve', () => {
  it('are off by default, except introspection', async () => {
    const settings = await startedWith([]);
    expect(settings.enableMcpIntrospection).toBe(true);
    for (const key of Object.values(toggles)) expect(settings[key]).toBe(false);
  });

  it('are switched by --enable and --disable, which override the environment', async () => {
    const on = await startedWith(Object.keys(toggles).map((name) => `enable-${name}`));
    for (const key of Object.values(toggles)) expect(on[key]).toBe(true);
    const env = { MCP_PRUNER_ENABLE_RESOURCES: '1', MCP_PRUNER_ENABLE_BULK: '1' };
    const some = await startedWith(['disable-resources', 'disable-mcp-introspection'], env);
    expect(some).toMatchObject({ enableResources: false, enableBulk: true, enableMcpIntrospection: false });
  });

  it('cannot be both enabled and disabled', async () => {
    await expect(startedWith(['enable-bulk', 'disable-bulk'])).rejects.toThrow(
      '--enable-bulk and --disable-bulk exclude each other',
    );
  });
});
