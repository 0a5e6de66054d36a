import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connectionConfig, shownUrl } from '@mcp-pruner/team/postgres/connection-config.ts';
import { fromPg, toPg } from '@mcp-pruner/team/postgres/text.ts';
import { describe, expect, it } from 'vitest';
import { tempFolder } from '../helpers/afterwards.ts';

describe('a database URL', () => {
  it('names the database and the user', () => {
    expect(connectionConfig('postgres://us%65r:p%40ss@db.example:6432/my%20db')).toEqual({
      host: 'db.example',
      port: 6432,
      user: 'user',
      password: 'p@ss',
      database: 'my db',
      application_name: 'mcp-pruner',
      ssl: false,
    });
    expect(connectionConfig('postgresql://[::1]/x?application_name=ci')).toMatchObject({
      host: '::1',
      application_name: 'ci',
    });
  });

  it.each(['postgres://user@/db?host=%2Frun%2Fpg', 'postgres:///db?host=/run/pg&sslmode=verify-full'])(
    'may name a directory of sockets: %s',
    (url) => expect(connectionConfig(url)).toMatchObject({ host: '/run/pg', database: 'db', ssl: false }),
  );

  it('enables encryption according to its sslmode', () => {
    const file = join(tempFolder(), 'ca.pem');
    writeFileSync(file, 'a certificate');
    const sslOf = (query: string) => connectionConfig(`postgres://u@h/d?${query}`).ssl;
    expect(sslOf('sslmode=disable')).toBe(false);
    expect(sslOf('sslmode=require')).toEqual({ rejectUnauthorized: false });
    expect(sslOf('sslmode=verify-full')).toEqual({ rejectUnauthorized: true });
    expect(sslOf(`sslmode=verify-full&sslrootcert=${file}`)).toEqual({ rejectUnauthorized: true, ca: 'a certificate' });
    expect(sslOf(`sslmode=verify-ca&sslrootcert=${file}`)).toMatchObject({
      rejectUnauthorized: true,
      checkServerIdentity: expect.any(Function),
    });
    expect(sslOf(`sslmode=require&sslrootcert=${file}`)).toMatchObject({ rejectUnauthorized: true });
    expect(() => sslOf('sslmode=prefer')).toThrow(/sslmode=prefer is not known; expected one of disable, require/);
  });

  it('is shown without user and password, and never in an error', () => {
    expect(shownUrl('postgres://user:secret@h:1/d?sslmode=require')).toBe('postgres://h:1/d');
    for (const url of ['postgres://user:secret@h:port/d', 'mysql://user:secret@h/d']) {
      expect(() => connectionConfig(url)).toThrow(
        expect.objectContaining({ message: expect.not.stringContaining('secret') }),
      );
    }
  });
});

describe('a text for PostgreSQL', () => {
  it.each(['', 'plain', '\0', '\x01', '\x010\0\x01', 'a\0b\x01c'])('is returned unchanged: %j', (text) => {
    expect(toPg(text)).not.toContain('\0');
    expect(fromPg(toPg(text))).toBe(text);
  });
});
