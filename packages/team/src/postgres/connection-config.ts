import { readFileSync } from 'node:fs';
import type { ClientConfig } from 'pg';

const SSL_MODES = ['disable', 'require', 'verify-ca', 'verify-full'] as const;

/**
 * Converts a database URL to the driver's configuration. `sslmode` has the meaning of PostgreSQL's own clients:
 * `require` encrypts without verifying the server, `verify-ca` requires a certificate of a known authority
 * (`sslrootcert`, or those built into Node), `verify-full` also requires the host's name in it. A host in the query is
 * a directory of Unix sockets.
 *
 * @throws Error with one line that never contains the URL, because it contains a password
 */
export function connectionConfig(url: string): ClientConfig {
  const parsed = parse(url);
  const query = parsed.searchParams;
  const host = query.get('host') ?? decodeURIComponent(parsed.hostname.replace(/^\[|\]$/g, ''));
  const database = decodeURIComponent(parsed.pathname.slice(1));
  return {
    host: host === '' ? 'localhost' : host,
    ...(parsed.port !== '' && { port: Number(parsed.port) }),
    ...(parsed.username !== '' && { user: decodeURIComponent(parsed.username) }),
    ...(parsed.password !== '' && { password: decodeURIComponent(parsed.password) }),
    ...(database !== '' && { database }),
    application_name: query.get('application_name') ?? 'mcp-pruner',
    ssl: host.startsWith('/') ? false : tlsOf(query),
  };
}

/** Loggable form of a database URL, without user and password. */
export function shownUrl(url: string): string {
  const { hostname, port, pathname, searchParams } = parse(url);
  return `postgres://${searchParams.get('host') ?? hostname}${port && `:${port}`}${pathname}`;
}

function parse(url: string): URL {
  let parsed: URL;
  try {
    // a socket folder has no host, and the URL parser accepts that only for special schemes
    parsed = new URL(url.replace(/^postgres(ql)?:\/\/([^/]*@)?\//, 'postgres://$2localhost/'));
  } catch (cause) {
    throw new Error('the database URL is not valid; expected postgres://user:password@host:5432/database', { cause });
  }
  if (!/^postgres(ql)?:$/.test(parsed.protocol)) {
    throw new Error(`the database URL begins with ${parsed.protocol}//; expected postgres://`);
  }
  return parsed;
}

function tlsOf(query: URLSearchParams): ClientConfig['ssl'] {
  const mode = query.get('sslmode') ?? 'disable';
  const known = SSL_MODES.find((one) => one === mode);
  if (known === undefined) throw new Error(`sslmode=${mode} is not known; expected one of ${SSL_MODES.join(', ')}`);
  if (known === 'disable') return false;
  if (known === 'require' && !query.has('sslrootcert')) return { rejectUnauthorized: false };
  const file = query.get('sslrootcert');
  return {
    rejectUnauthorized: true,
    ...(file !== null && { ca: readFileSync(file, 'utf8') }),
    ...(known !== 'verify-full' && { checkServerIdentity: () => undefined }),
  };
}
