import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { TLSSocket } from 'node:tls';
import { openPostgresStore } from '@mcp-pruner/team/postgres/store.ts';
import { describe, expect, it } from 'vitest';
import { manualClock } from '../contract/store.suite.ts';
import { afterwards, tempFolder } from '../helpers/afterwards.ts';
import { hasPostgres, newDatabase } from '../helpers/postgres.ts';

/** A certificate that nobody signed but itself, for one host name. */
function certificateFor(host: string): { readonly certFile: string; readonly key: Buffer; readonly cert: Buffer } {
  const folder = tempFolder();
  const [keyFile, certFile] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const kind = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  const names = ['-subj', `/CN=${host}`, '-addext', `subjectAltName=DNS:${host}`];
  execFileSync('openssl', [...kind, ...names, '-keyout', keyFile, '-out', certFile], { stdio: 'ignore' });
  return { certFile, key: readFileSync(keyFile), cert: readFileSync(certFile) };
}

/** A port in front of the database that speaks TLS alone. @returns its number */
async function encryptedWay(url: string, secure: { key: Buffer; cert: Buffer }): Promise<number> {
  const { searchParams } = new URL(url.replace('postgres://pruner@/', 'postgres://pruner@localhost/'));
  const path = join(searchParams.get('host') ?? '', '.s.PGSQL.5432');
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    sockets.add(client);
    client.on('error', () => undefined);
    client.once('data', (asked) => {
      if (asked.length !== 8) return void client.destroy(); // it did not ask for TLS
      client.write('S');
      const plain = new TLSSocket(client, { isServer: true, ...secure });
      const database = connect(path);
      sockets.add(database);
      for (const end of [plain, database]) {
        end.on('error', () => undefined);
        end.once('close', () => [plain, database].map((other) => other.destroy()));
      }
      plain.pipe(database).pipe(plain);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  afterwards(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

describe.skipIf(!hasPostgres || !hasOpenssl())('a database reached over TLS with its own certificate', () => {
  it('is trusted according to sslmode', async () => {
    const url = await newDatabase();
    const { certFile, ...secure } = certificateFor('localhost');
    const port = await encryptedWay(url, secure);
    const database = new URL(url.replace('postgres://pruner@/', 'postgres://pruner@localhost/')).pathname;
    const problemOf = async (host: string, query: string, patienceMs = 0): Promise<string | null> => {
      const asked = `postgres://pruner@${host}:${port}${database}?${query}`;
      const limits = { ttlMs: 1, maxBytes: 1e9, maxEvents: 10, patienceMs };
      const store = openPostgresStore({ url: asked, clock: manualClock(), ...limits });
      afterwards(() => store.close());
      await store.ready();
      return store.problem()?.reason ?? null;
    };
    const known = `sslrootcert=${encodeURIComponent(certFile)}`;
    const slow = 20_000; // a busy machine may take more than one attempt
    expect(await problemOf('127.0.0.1', 'sslmode=require', slow)).toBeNull();
    expect(await problemOf('localhost', `sslmode=verify-full&${known}`, slow)).toBeNull();
    expect(await problemOf('127.0.0.1', `sslmode=verify-ca&${known}`, slow)).toBeNull();
    expect(await problemOf('127.0.0.1', `sslmode=verify-full&${known}`)).not.toBeNull(); // another name
    expect(await problemOf('localhost', 'sslmode=verify-full')).not.toBeNull(); // nobody known signed it
    expect(await problemOf('localhost', 'sslmode=disable')).not.toBeNull();
  });
});

function hasOpenssl(): boolean {
  try {
    execFileSync('openssl', ['version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
