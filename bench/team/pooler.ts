import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { PostgresServer } from '../../test/helpers/postgres-server.ts';
import { pause } from '../soak/chance.ts';

export const BOUNCER = '/usr/sbin/pgbouncer';

/** A PgBouncer in transaction mode with three server connections, in front of a PostgreSQL. */
export async function withPooler<T>(
  postgres: PostgresServer,
  run: (url: string, version: string) => Promise<T>,
): Promise<T> {
  const folder = join(postgres.folder, 'pooler');
  mkdirSync(folder, { mode: 0o777 });
  chmodSync(folder, 0o777);
  writeFileSync(
    join(folder, 'pgbouncer.ini'),
    `[databases]
postgres = user=pruner host=${postgres.folder} pool_size=3
[pgbouncer]
pool_mode = transaction
unix_socket_dir = ${folder}
listen_addr =
listen_port = 5432
auth_type = any
user = nobody
`,
  );
  const bouncer = spawn(BOUNCER, [join(folder, 'pgbouncer.ini')], { stdio: ['ignore', 'ignore', 'pipe'] });
  let log = '';
  bouncer.stderr.on('data', (data: Buffer) => {
    log = (log + data.toString()).slice(-5_000);
  });
  try {
    for (let tries = 0; !log.includes('process up'); tries++) {
      if (tries > 500) throw new Error(`pgbouncer did not start: ${log}`);
      await pause(10);
    }
    const url = postgres.url().replace(encodeURIComponent(postgres.folder), encodeURIComponent(folder));
    const [version = ''] = execFileSync(BOUNCER, ['--version'], { encoding: 'utf8' }).split('\n');
    return await run(url, version);
  } finally {
    const ended = once(bouncer, 'exit');
    bouncer.kill('SIGQUIT');
    await ended;
  }
}
