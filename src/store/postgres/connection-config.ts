import { readFileSync } from 'node:fs';
import type { ClientConfig } from 'pg';

const SSL_MODES = ['disable', 'require', 'verify-ca', 'verify-full'] as const;

/**
 * What a database URL says, as the driver takes it. `sslmode` means what it means to PostgreSQL's own clients: `require`
 * encrypts without asking who is there, `verify-ca` asks for a certificate of a known authority (`sslrootcert`, or those
 * that Node knows), `verify-full` for the host's name in it as well. A host in the query is a folder of Unix sockets.
 *
 * @throws Error with one line that never holds the URL, for it has a password in it
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

/** What may be shown of a database URL: where it leads, without user and password. */
export function shownUrl(url: string): string {
  const { hostname, port, pathname, searchParams } = parse(url);
  return `postgres://${searchParams.get('host') ?? hostname}${port && `:${port}`}${pathname}`;
}

function parse(url: string): URL {
  let parsed: URL;
  try {
    // a socket's folder has no host, which the parser of URLs takes for special schemes only
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
