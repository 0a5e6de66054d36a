import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { run } from '../../../test/cli/fake-io.ts';
import { tempFolder } from '../../../test/helpers/afterwards.ts';
import { startUpstream } from '../../../test/helpers/fake-upstream.ts';
import { startProxy } from '../../../test/helpers/proxy.ts';
import { hashOfKey } from '../src/keys/key-text.ts';

const aPlace = () => ({ MCP_PRUNER_DB_PATH: join(tempFolder(), 'store.db') });

/** A store that was made for something else. */
async function aStoreElsewhere(): Promise<string> {
  const env = aPlace();
  await run(['keys', 'create', '--name', 'other', '--project', 'other'], { env: { ...env, MCP_PRUNER_PORT: '0' } });
  return env.MCP_PRUNER_DB_PATH;
}

describe('mcp-pruner keys', () => {
  it('prints a new key once, on its own, and afterwards shows everything except the key', async () => {
    const env = aPlace();
    const options = [
      '--name',
      'ci',
      '--project',
      'web, api',
      '--requests-per-minute',
      '60',
      '--tokens-per-day',
      '1_000',
    ];
    const made = await run(['keys', 'create', ...options, '--expires', '90d'], { env });
    expect(made).toMatchObject({ code: 0, out: expect.stringMatching(/^mpk_[\w-]{43}\n$/) });
    expect(made.err).toMatch(/^key_[\w-]{12} \(ci\) opens web, api\. A key is shown only once/);
    const { out } = await run(['keys', 'list'], { env });
    expect(out).toMatch(
      /^key_[\w-]{12} {2}open {5}ci: opens web, api, 60 requests\/min, 1000 tokens\/day, made 2026-01-10, until 2026-04-10, never used\n$/,
    );
    const all = out + (await run(['keys', 'list', '--json'], { env })).out;
    expect(all).not.toContain(made.out.trim().slice(4));
    expect(all).not.toContain(hashOfKey(made.out.trim()));
    const later = { env, clock: { nowMs: () => Date.UTC(2026, 5, 1) } };
    expect((await run(['keys', 'list'], later)).out).toContain('expired');
    const rotated = await run(['keys', 'rotate', 'ci'], { env });
    expect(rotated.out).toMatch(/^mpk_[\w-]{43}\n$/);
    expect(rotated.out).not.toBe(made.out);
    expect((await run(['keys', 'revoke', 'ci'], { env })).out).toMatch(/^key_[\w-]{12} \(ci\) is revoked\n$/);
    expect((await run(['keys', 'list'], { env })).out).toContain('revoked');
  });

  it('issues a key for each line of a file, names a broken line, and changes limits later', async () => {
    const env = aPlace();
    const file = join(tempFolder(), 'keys.ndjson');
    const lines = Array.from({ length: 3 }, (_, i) => ({
      name: `dev ${i}`,
      projects: ['web'],
      dollars_per_month: 50 + i,
    }));
    writeFileSync(file, lines.map((line) => JSON.stringify(line)).join('\n'));
    const { code, out } = await run(['keys', 'create', '--from', file], { env });
    const made = out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { name: string; key: string });
    expect([code, made.map(({ name }) => name)]).toEqual([0, ['dev 0', 'dev 1', 'dev 2']]);
    expect(new Set(made.map(({ key }) => key)).size).toBe(3);
    const set = ['keys', 'set', 'dev 1', '--dollars-per-month', '12.50', '--tokens-per-day', 'none', '--expires', '1h'];
    expect((await run(set, { env })).out).toContain('$12.5/month');
    writeFileSync(file, `{"name":"a","projects":["web"]}\n{"name":"b","projects":["web"],"dollars":1}\n`);
    const broken = await run(['keys', 'create', '--from', file], { env });
    expect([broken.code, broken.err]).toEqual([1, expect.stringContaining('keys.ndjson, line 2: ')]);
    expect((await run(['keys', 'list'], { env })).out.split('\n')).toHaveLength(4);
  });

  it.each([
    [['keys'], 'too few arguments'],
    [['keys', 'make'], 'expected one of create, list, set, revoke, rotate'],
    [['keys', 'create', '--project', 'web'], '--name is missing'],
    [['keys', 'create', '--name', 'ci'], '--project needs'],
    [['keys', 'create', '--name', 'ci', '--project', 'a\tb'], '--project: control characters'],
    [['keys', 'create', '--name', 'ci', '--project', '*,web'], "'*' opens all"],
    [['keys', 'create', '--name', 'ci', '--project', 'web', '--requests-per-minute', '0'], 'a whole number from 1 on'],
    [['keys', 'create', '--name', 'ci', '--project', 'web', '--tokens-per-day', '1e3'], 'a whole number from 1 on'],
    [['keys', 'create', '--name', 'ci', '--project', 'web', '--expires', 'soon'], 'such as 90d'],
    [['keys', 'revoke'], 'needs a key'],
    [['keys', 'set', 'ci'], 'needs a limit to change'],
    [['keys', 'set', 'ci', '--dollars-per-month', '-1'], 'a number such as 50'],
    [['keys', 'list', 'ci'], 'takes no argument'],
  ])('refuses %j with the reason, and creates no key', async (args, words) => {
    const env = aPlace();
    const { code, err } = await run(args, { env });
    expect([code, err]).toEqual([2, expect.stringContaining(words)]);
    expect(await run(['keys', 'list'], { env })).toMatchObject({ code: 1, err: expect.stringContaining('no store') });
  });

  it('has its keys checked by doctor if keys are required', async () => {
    const env = {
      ...aPlace(),
      MCP_PRUNER_REQUIRE_KEY: 'true',
      MCP_PRUNER_PORT: '1',
      MCP_PRUNER_UPSTREAM_URL: 'http://127.0.0.1:9/v1',
    };
    expect((await run(['doctor'], { env })).out).toMatch(/FAIL {2}each request must name a key .*there is none/);
    await run(['keys', 'create', '--name', 'ci', '--project', 'web'], { env });
    expect((await run(['doctor'], { env })).out).toMatch(/ok {4}each request must name a key: 1 of 1 are open/);
    const { out } = await run(['doctor'], { env: { ...env, MCP_PRUNER_REQUIRE_KEY: 'false' } });
    expect(out).not.toContain('must name a key');
  });

  it('creates no key in a store that the running proxy does not use, and names that store', async () => {
    const proxy = await startProxy(await startUpstream());
    const port = { MCP_PRUNER_PORT: new URL(proxy.url).port };
    const create = ['keys', 'create', '--name', 'ci', '--project', 'web'];
    for (const elsewhere of [aPlace(), { MCP_PRUNER_DB_PATH: await aStoreElsewhere() }]) {
      const refused = await run(create, { env: { ...port, ...elsewhere } });
      expect(refused).toMatchObject({ code: 1, out: '' });
      expect(refused.err).toContain(`uses another store than the SQLite file ${elsewhere.MCP_PRUNER_DB_PATH}`);
      expect(refused.err).toContain('MCP_PRUNER_DATABASE_URL');
      const { out } = await run(['doctor'], { env: { ...port, ...elsewhere } });
      expect(out).toMatch(/FAIL .*uses another store than/);
    }
    const here = { ...port, MCP_PRUNER_DB_PATH: proxy.dbPath };
    expect((await run(create, { env: here })).err).toContain(`Its hash is kept in the SQLite file ${proxy.dbPath}.`);
    expect((await run(['doctor'], { env: here })).out).toContain(`ok    the store ${proxy.dbPath} holds`);
  });

  it('requires an id if a name is ambiguous', async () => {
    const env = aPlace();
    const create = ['keys', 'create', '--name', 'twice', '--project', 'web'];
    const { out } = await run(create, { env });
    await run(create, { env });
    expect((await run(['keys', 'revoke', 'twice'], { env })).err).toMatch(
      /several keys are named twice: .*key_.*, key_/,
    );
    expect((await run(['keys', 'revoke', 'nobody'], { env })).err).toContain('there is no key nobody');
    const byText = await run(['keys', 'revoke', out.trim()], { env });
    expect(byText).toMatchObject({ code: 1, err: expect.stringContaining('name it by its id') });
    expect(byText.err).not.toContain(out.trim());
    expect((await run(['keys', 'list'], { env: { MCP_PRUNER_DB_PATH: ':memory:' } })).err).toContain(
      'memory of each process',
    );
  });
});
