import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { PartTables } from '../../src/store/part-tables.ts';
import { sqliteDriver } from '../../src/store/sqlite/driver.ts';
import { openSqliteStore } from '../../src/store/sqlite.ts';

const templates = new Map<string, string>();

/**
 * Makes the file of an empty store at a path without one. It is a copy, because creating the tables takes longer than
 * most tests; it has an id of its own.
 */
export function makeStore(path: string, parts: readonly PartTables[] = []): void {
  if (existsSync(path)) return;
  copyFileSync(templateOf(parts), path);
  const db = new (sqliteDriver())(path);
  db.exec("UPDATE meter SET value = abs(random() % 9007199254740991) WHERE name = 'store_id'");
  db.close();
}

/** One for each list of tables, made once in this process. */
function templateOf(parts: readonly PartTables[]): string {
  const key = parts.flatMap(({ moved }) => moved.map(([name]) => name)).join();
  const known = templates.get(key);
  if (known !== undefined) return known;
  const folder = mkdtempSync(join(tmpdir(), 'mcp-pruner-template-'));
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, 'store.db');
  void openSqliteStore({ path, clock: { nowMs: Date.now }, parts, ttlMs: 1, maxBytes: 1, maxEvents: 1 }).close();
  const db = new (sqliteDriver())(path);
  db.pragma('wal_checkpoint(TRUNCATE)'); // the store closes later, and only the file is copied
  db.close();
  templates.set(key, path);
  return path;
}
