import { chmodSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { localTokenFile, makeLocalToken, readLocalToken, serverToken } from '../../src/config/local-token.ts';
import { machine } from './machine.ts';

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'local-token-'));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('the file of the local token', () => {
  it('stands beside the store, and beside the default one when the store is in memory', () => {
    expect(localTokenFile(machine(), { dbPath: '/var/p/store.db' })).toBe('/var/p/local-token');
    expect(localTokenFile(machine(), { dbPath: ':memory:' })).toBe('/home/me/.local/share/mcp-pruner/local-token');
  });

  it('is made once, for its owner alone, with a token that nobody guesses', () => {
    const file = join(folder, 'new', 'local-token');
    const token = makeLocalToken(file);
    expect(token).toMatch(/^[\w-]{43}$/);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(statSync(join(folder, 'new')).mode & 0o777).toBe(0o700);
    expect(makeLocalToken(file)).toBe(token);
    expect(readLocalToken(file)).toBe(token);
    expect(makeLocalToken(join(folder, 'other'))).not.toBe(token);
    expect(readdirSync(join(folder, 'new'))).toEqual(['local-token']);
  });

  it('is not there for a client until a server made it, and is replaced when it holds no token', () => {
    const file = join(folder, 'local-token');
    expect(readLocalToken(file)).toBeNull();
    writeFileSync(file, 'short\n', { mode: 0o600 });
    expect(readLocalToken(file)).toBeNull();
    expect(makeLocalToken(file)).toMatch(/^[\w-]{43}$/);
    expect(readLocalToken(file)).toBe(makeLocalToken(file));
  });

  it('is refused when others can read it, in one line that says what to do', () => {
    const file = join(folder, 'local-token');
    makeLocalToken(file);
    chmodSync(file, 0o644);
    expect(() => readLocalToken(file)).toThrow(/local-token can be read by others: remove it/);
    expect(() => makeLocalToken(file)).toThrow(/MCP_PRUNER_LOCAL_TOKEN/);
  });

  it('that cannot be created makes the command fail', () => {
    writeFileSync(join(folder, 'file'), '');
    expect(() => makeLocalToken(join(folder, 'file', 'local-token'))).toThrow(/cannot make the token file .*ENOTDIR/);
    mkdirSync(join(folder, 'local-token'));
    expect(() => makeLocalToken(join(folder, 'local-token'))).toThrow(/token file/);
  });
});

describe('serverToken', () => {
  const settings = (changes: object) => ({
    authToken: null,
    localToken: 'off' as const,
    dbPath: join(folder, 'store.db'),
    ...changes,
  });

  it('is nothing by default, so that a client which knows the address alone is let in', () => {
    expect(serverToken(machine(), settings({}))).toBeNull();
    expect(readdirSync(folder)).toEqual([]);
  });

  it('is that of the file when asked for, and always the configured one where there is one', () => {
    const token = serverToken(machine(), settings({ localToken: 'auto' }));
    expect(token).toBe(readLocalToken(join(folder, 'local-token')));
    expect(token).not.toBeNull();
    expect(serverToken(machine(), settings({ localToken: 'auto', authToken: 'configured' }))).toBe('configured');
  });
});
