import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { expect, it } from 'vitest';
import { run } from '../../../test/cli/fake-io.ts';
import { tempFolder } from '../../../test/helpers/afterwards.ts';
import { writeTwoTasks } from '../../sessions/test/two-tasks.ts';

/** A home with a file, and `setup` of a client in it. */
function machine(client: string, path: string, text: string | null) {
  const home = tempFolder();
  const file = join(home, path);
  mkdirSync(dirname(file), { recursive: true });
  if (text !== null) writeFileSync(file, text);
  const env = { MCP_PRUNER_PORT: '1', MCP_PRUNER_DB_PATH: join(home, 'store.db') };
  const given = { homeDir: home, cwd: home, env };
  return {
    home,
    file,
    given,
    setup: (...args: string[]) => run(['setup', client, ...args], given),
    read: () => readFileSync(file, 'utf8'),
  };
}

const CLAUDE = '.claude/settings.json';
const CODEX = '.codex/config.toml';
const OWN_CODEX = 'model = "gpt-6.2-sol"\nmodel_auto_compact_token_limit = 300000 # mine\n\n[tui]\ntheme = "dark"\n';

it('sets the window of Claude Code 33,000 tokens above the wish, also for models with a window of their own', async () => {
  const own =
    '{\n  "autoCompactWindow": 500000,\n  "modelSettings": { "claude-opus-5": { "autoCompactWindow": "auto" }, "claude-haiku-5": { "effortLevel": "low" } }\n}\n';
  const { setup, read } = machine('claude', CLAUDE, own);
  expect(await setup('--compact-at', '120k')).toMatchObject({ code: 0, out: expect.stringContaining('153000') });
  expect(read()).toBe(own); // printed first, written only with --write
  expect((await setup('--write', '--compact-at', '120k')).code).toBe(0);
  expect(JSON.parse(read())).toMatchObject({
    autoCompactWindow: 153_000,
    modelSettings: { 'claude-opus-5': { autoCompactWindow: 153_000 }, 'claude-haiku-5': { effortLevel: 'low' } },
  });
  expect((await setup('--undo')).code).toBe(0);
  expect(read()).toBe(own);
});

it('says that Claude Code takes no window below 100,000 tokens', async () => {
  const { setup, read } = machine('claude', CLAUDE, '{}\n');
  const { out } = await setup('--write', '--compact-at', '60000');
  expect(out).toContain('it compacts at 67,000 tokens');
  expect(JSON.parse(read())).toMatchObject({ autoCompactWindow: 100_000 });
});

it('sets the limit of Codex, and --undo puts the own value back, byte for byte, also after a change', async () => {
  const { setup, read, file } = machine('codex', CODEX, OWN_CODEX);
  expect((await setup('--write', '--compact-at', '120k')).code).toBe(0);
  expect(read()).toMatch(/^model_auto_compact_token_limit = 120000$/m);
  expect(read()).not.toMatch(/^model_auto_compact_token_limit = 300000/m);
  expect((await setup('--undo')).code).toBe(0);
  expect(read()).toBe(OWN_CODEX);
  await setup('--write', '--compact-at', '90k');
  writeFileSync(file, read().replace('theme = "dark"', 'theme = "light"'));
  expect((await setup('--undo')).code).toBe(0);
  expect(read()).toBe(OWN_CODEX.replace('dark', 'light'));
  expect(readdirSync(dirname(file))).toEqual(['config.toml']);
});

it.each([
  ['claude', CLAUDE, '{\n  "autoCompactWindow": 500000\n}\n', '153000', '{\n  "autoCompactWindow": 222000\n}\n'],
  ['claude', CLAUDE, '{ "a": 1 }\n', '153000', '{ "a": 1, "autoCompactWindow": 222000 }\n'],
  ['codex', CODEX, OWN_CODEX, '120000', OWN_CODEX.replace(/^(.*\n)(.*)300000 # mine/, '$2222000\n$1')],
  [
    'gemini',
    '.gemini/settings.json',
    '{}\n',
    '0.1144',
    '{\n  "model": {\n    "compressionThreshold": 222000\n  }\n}\n',
  ],
])('--undo leaves a value that the user changed since: %s', async (client, path, own, written, left) => {
  const { setup, read, file } = machine(client, path, own);
  await setup('--write', '--compact-at', '120k');
  writeFileSync(file, read().replace(written, '222000'));
  expect((await setup('--undo')).code).toBe(0);
  const spaces = (text: string): string => text.replaceAll(/\s+/g, ' ').trim();
  expect(spaces(read())).toBe(spaces(left));
  expect(readdirSync(dirname(file))).toHaveLength(1);
});

it('--undo takes our window of a model back where the user changed only the general one, and leaves a new model', async () => {
  const own = '{ "autoCompactWindow": 400000, "modelSettings": { "a": { "autoCompactWindow": 500000 } } }\n';
  const { setup, read, file } = machine('claude', CLAUDE, own);
  await setup('--write', '--compact-at', '120k');
  const changed = read().replace('153000', '222000').replace('"a":', '"b": { "autoCompactWindow": 300000 }, "a":');
  writeFileSync(file, changed);
  expect((await setup('--undo')).code).toBe(0);
  expect(JSON.parse(read())).toEqual({
    autoCompactWindow: 222_000,
    modelSettings: { a: { autoCompactWindow: 500_000 }, b: { autoCompactWindow: 300_000 } },
  });
});

it('sets the share of Gemini CLI', async () => {
  const { setup, read } = machine('gemini', '.gemini/settings.json', null);
  expect((await setup('--write', '--compact-at', '150k')).code).toBe(0);
  expect(JSON.parse(read())).toMatchObject({ model: { compressionThreshold: 0.1431 } });
});

it('refuses a client without such a setting, and lengths that are none, and writes nothing', async () => {
  for (const [client, length, problem] of [
    ['pi', '120k', 'pi has no documented setting for the length at which it compacts: nothing was written'],
    ['claude', '12', '--compact-at "12" is not a number of tokens from 20k on, such as 120k'],
    ['claude', 'many', '--compact-at "many" is not'],
  ] as const) {
    const { setup, home } = machine(client, 'x', null);
    const { code, err } = await setup('--write', '--compact-at', length);
    expect([code, err]).toEqual([2, expect.stringContaining(problem)]);
    expect(readdirSync(home)).toEqual([]);
  }
});

it('offers the cheapest length on a terminal, with the figures of the own sessions; without an answer, nothing changes', async () => {
  for (const [answer, window] of [
    ['\n', undefined],
    ['y\n', 133_000],
  ] as const) {
    const { home, given, read } = machine('claude', CLAUDE, '{}\n');
    writeTwoTasks(home, '2026-11-20T10:00:00.000Z');
    let asked = '';
    const output = new PassThrough().on('data', (chunk) => {
      asked += String(chunk);
    });
    const streams = () => ({ input: Readable.from([answer]), output });
    const clock = { nowMs: () => Date.UTC(2026, 10, 27) };
    const terminal = { inIsTerminal: true, outIsTerminal: true, columns: 80, clock, streams };
    await run(['setup', 'claude', '--write'], { ...given, ...terminal });
    expect(asked).toMatch(
      /cost \$21\.\d\d\. Compacting at 100k tokens would have cost \$19\.\d\d, for 12 compactions \(simulated\)\. Have Claude Code compact there\? \[y\/N\] /,
    );
    expect((JSON.parse(read()) as { autoCompactWindow?: number }).autoCompactWindow).toBe(window);
  }
});
