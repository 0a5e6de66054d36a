import { describe, expect, it } from 'vitest';
import { swePrunerConfig } from '../src/swe-pruner-client.ts';
import { LocalClient } from './helpers/client.ts';
import { soon } from './helpers/soon.ts';

describe('PRUNER_URL', () => {
  it.each([
    [{}, 'http://localhost:8000/prune'],
    [{ PRUNER_URL: '' }, null],
    [{ PRUNER_URL: 'https://pruner.example/a?b=c' }, 'https://pruner.example/a?b=c'],
  ])('of %j is %j', (env, url) => {
    expect(swePrunerConfig(env)).toMatchObject({ url, warnings: [] });
  });

  it('is reported if it is not a valid URL', () => {
    expect(swePrunerConfig({ PRUNER_URL: 'localhost:8000' }).warnings).toHaveLength(1);
  });
});

describe('PRUNER_TIMEOUT_MS', () => {
  it.each([
    [undefined, 30_000, 0],
    ['30000', 30_000, 0],
    ['100', 100, 0],
    ['300000', 300_000, 0],
    [' 250 ', 250, 0],
    ['99', 100, 1],
    ['0', 100, 1],
    ['-5', 100, 1],
    ['300001', 300_000, 1],
    ['99999999999999999999', 300_000, 1],
    ['soon', 30_000, 1],
    ['', 30_000, 1],
    ['NaN', 30_000, 1],
  ])('of %j is %i, with %i warnings', (text, timeoutMs, warnings) => {
    const config = swePrunerConfig(text === undefined ? {} : { PRUNER_TIMEOUT_MS: text });
    expect(config).toMatchObject({ timeoutMs });
    expect(config.warnings).toHaveLength(warnings);
  });

  it.each(['soon', '1'])('of %j causes a warning on stderr, and the server still works', async (text) => {
    const client = new LocalClient({ env: { PRUNER_TIMEOUT_MS: text } });
    expect(await client.request('ping')).toMatchObject({ result: {} });
    await soon(() => client.stderr).toMatch(/^mcp-pruner: warning: PRUNER_TIMEOUT_MS [^\n]+\n$/);
  });
});
