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
  it('is in the folder of the store, or of the default store if the store is in memory', () => {
    expect(localTokenFile(machine(), { dbPath: '/var/p/store.db' })).toBe('/var/p/local-token');
    expect(localTokenFile(machine(), { dbPath: ':memory:' })).toBe('/home/me/.local/share/mcp-pruner/local-token');
  });

  it('is created once, readable by its owner only, with a random token', () => {
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

  it('is not created by a read, and is replaced if it contains no token', () => {
    const file = join(folder, 'local-token');
    expect(readLocalToken(file)).toBeNull();
    writeFileSync(file, 'short\n', { mode: 0o600 });
    expect(readLocalToken(file)).toBeNull();
    expect(makeLocalToken(file)).toMatch(/^[\w-]{43}$/);
    expect(readLocalToken(file)).toBe(makeLocalToken(file));
  });

  it('is refused if others can read it, with the remedy in one line', () => {
    const file = join(folder, 'local-token');
    makeLocalToken(file);
    chmodSync(file, 0o644);
    expect(() => readLocalToken(file)).toThrow(/local-token can be read by others: remove it/);
    expect(() => makeLocalToken(file)).toThrow(/MCP_PRUNER_LOCAL_TOKEN/);
  });

  it('makes the command fail if it cannot be created', () => {
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

  it('is absent by default, so that a client needs only the address', () => {
    expect(serverToken(machine(), settings({}))).toBeNull();
    expect(readdirSync(folder)).toEqual([]);
  });

  it('is the configured token if there is one, otherwise the token in the file if requested', () => {
    const token = serverToken(machine(), settings({ localToken: 'auto' }));
    expect(token).toBe(readLocalToken(join(folder, 'local-token')));
    expect(token).not.toBeNull();
    expect(serverToken(machine(), settings({ localToken: 'auto', authToken: 'configured' }))).toBe('configured');
  });
});
