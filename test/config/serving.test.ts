import { describe, expect, it } from 'vitest';
import { loadSettings } from '../../src/config/load.ts';
import { shownSettings } from '../../src/config/show.ts';
import { isLoopbackHost, servingProblem } from '../../src/config/warnings.ts';
import { edition } from '../../src/edition.ts';
import { machine } from './machine.ts';

describe('isLoopbackHost', () => {
  it.each(['127.0.0.1', '127.9.9.9', '::1', '[::1]', 'localhost', 'LOCALHOST', 'a.localhost', '::ffff:127.0.0.1'])(
    'accepts %s',
    (host) => expect(isLoopbackHost(host)).toBe(true),
  );
  it.each([
    '0.0.0.0',
    '::',
    '192.168.1.2',
    'example.com',
    'localhost.example.com',
    '127.0.0.1.example.com',
    'x127.0.0.1',
    '1270.0.0.1',
  ])('rejects %s', (host) => expect(isLoopbackHost(host)).toBe(false));
});

describe('servingProblem', () => {
  const settingsOf = (env: Record<string, string>) => loadSettings(machine({ env })).settings;

  it('forbids an exposed address without a token, with the remedy in one line', () => {
    const problem = servingProblem(settingsOf({ MCP_PRUNER_HOST: '0.0.0.0' }), edition.settings);
    expect(problem).toContain('0.0.0.0');
    expect(problem).toContain('MCP_PRUNER_AUTH_TOKEN');
    expect(problem).not.toContain('\n');
  });

  it.each(['AUTH', 'ADMIN'])('forbids a short %s token on an exposed address, and allows it on loopback', (name) => {
    const env = { MCP_PRUNER_AUTH_TOKEN: 'x'.repeat(24), [`MCP_PRUNER_${name}_TOKEN`]: 'x'.repeat(23) };
    expect(servingProblem(settingsOf({ MCP_PRUNER_HOST: '0.0.0.0', ...env }), edition.settings)).toContain(
      `MCP_PRUNER_${name}_TOKEN has 23 characters`,
    );
    expect(servingProblem(settingsOf(env), edition.settings)).toBeNull();
  });

  it('allows an exposed address with a token, and loopback without one', () => {
    const token = 'a-long-random-secret-of-30-chars';
    expect(
      servingProblem(settingsOf({ MCP_PRUNER_HOST: '0.0.0.0', MCP_PRUNER_AUTH_TOKEN: token }), edition.settings),
    ).toBeNull();
    expect(servingProblem(settingsOf({ MCP_PRUNER_HOST: '[::1]' }), edition.settings)).toBeNull();
    expect(
      servingProblem(settingsOf({ MCP_PRUNER_HOST: '0.0.0.0', MCP_PRUNER_LOCAL_TOKEN: 'auto' }), edition.settings),
    ).toBeNull();
  });

  it('requires keys if other machines can reach a shared store, unless configured otherwise', () => {
    const shared = { MCP_PRUNER_HOST: '0.0.0.0', MCP_PRUNER_DATABASE_URL: 'postgres://u:p@db/pruner' };
    expect(settingsOf(shared).requireKey).toBe(true);
    expect(servingProblem(settingsOf(shared), edition.settings)).toBeNull();
    expect(settingsOf({ ...shared, MCP_PRUNER_HOST: '127.0.0.1' }).requireKey).toBe(false);
    expect(settingsOf({ MCP_PRUNER_HOST: '0.0.0.0' }).requireKey).toBe(false);
    const open = settingsOf({ ...shared, MCP_PRUNER_REQUIRE_KEY: 'false' });
    expect(open.requireKey).toBe(false);
    expect(servingProblem(open, edition.settings)).toContain('MCP_PRUNER_AUTH_TOKEN');
  });
});

describe('shownSettings', () => {
  it('masks secrets that are set, and shows which are not set', () => {
    const shown = shownSettings(loadSettings(machine({ env: { MCP_PRUNER_AUTH_TOKEN: 'a-long-random-secret' } })));
    expect(JSON.stringify(shown)).not.toContain('a-long-random-secret');
    const byKey = new Map(shown.map(({ key, value }) => [key, value]));
    expect(byKey.get('auth_token')).toBe('***');
    expect(byKey.get('deepinfra_api_key')).toBeNull();
  });
});
