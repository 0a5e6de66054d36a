import { existsSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { groupBy } from 'mcp-pruner/engine/group-by.ts';
import { sqliteDriver } from 'mcp-pruner/store/sqlite/driver.ts';
import { parsed } from 'mcp-pruner/wires/json/value.ts';
import { type OpenCodeMessage, openCodeSession } from '../readers/opencode.ts';
import { type FoundSession, filesBelow } from './found.ts';

interface MessageRow {
  readonly id: string;
  readonly data: string;
}

/** Sessions of opencode or of its fork Kilo: in its database, or in the files of older versions. */
export function openCodeFiles(folder: string, database: string): FoundSession[] {
  const path = join(folder, database);
  return existsSync(path) ? inDatabase(path) : inFiles(join(folder, 'storage'));
}

/** Sessions in the database. An unreadable database, or one with other tables, counts as empty. */
function inDatabase(path: string): FoundSession[] {
  return read(path, (all) =>
    all<{ readonly id: string; readonly atMs: number }>('SELECT id, time_updated AS "atMs" FROM session', []),
  ).map(({ id, atMs }) => ({
    path: `${path}#${id}`,
    atMs,
    async read() {
      const messages = read(path, (all) => {
        const parts = all<MessageRow & { readonly message: string }>(
          'SELECT id, message_id AS message, data FROM part WHERE session_id = ? ORDER BY message_id, id',
          [id],
        );
        const byMessage = groupBy(parts, ({ message }) => message);
        return all<MessageRow>('SELECT id, data FROM message WHERE session_id = ? ORDER BY time_created, id', [id]).map(
          (row): OpenCodeMessage => ({
            info: withId(row),
            parts: (byMessage.get(row.id) ?? []).map(({ data }) => parsed(data)),
          }),
        );
      });
      return { ...openCodeSession(messages), id };
    },
  }));
}

function withId({ id, data }: MessageRow): unknown {
  const info = parsed(data);
  return typeof info === 'object' && info !== null ? { id, ...info } : info;
}

function read<T>(path: string, use: (all: <R>(sql: string, values: readonly string[]) => R[]) => T[]): T[] {
  try {
    const Driver = sqliteDriver();
    const database = new Driver(path, { readonly: true, fileMustExist: true });
    try {
      return use(<R>(sql: string, values: readonly string[]) => database.prepare(sql).all(...values) as R[]);
    } finally {
      database.close();
    }
  } catch {
    return [];
  }
}

/** `message/<session>/<message>.json`, and `part/<message>/<part>.json`. */
function inFiles(storage: string): FoundSession[] {
  const bySession = new Map<string, string[]>();
  for (const path of filesBelow(join(storage, 'message'), '.json')) {
    const session = basename(dirname(path));
    bySession.set(session, [...(bySession.get(session) ?? []), path]);
  }
  return Array.from(bySession, ([id, paths]) => ({
    path: paths.at(-1) ?? '',
    async read() {
      const messages = paths.sort().map((path): OpenCodeMessage => {
        const parts = filesBelow(join(storage, 'part', basename(path, '.json')), '.json').sort();
        return { info: jsonAt(path), parts: parts.map(jsonAt) };
      });
      return { ...openCodeSession(messages), id };
    },
  }));
}

function jsonAt(path: string): unknown {
  return parsed(readFileSync(path, 'utf8'));
}
