import type Database from 'better-sqlite3';
import { sqliteDriver } from '../../src/store/sqlite/driver.ts';
import { afterwards } from './afterwards.ts';

/** What SQLite was asked to do. */
export interface SqlCounts {
  /** Executed statements, `BEGIN` and `COMMIT` included. */
  statements: number;
  /** Transactions of any kind: explicit ones, and statements outside one. */
  transactions: number;
  /** Of these, the ones that write. */
  writes: number;
  /** How often each statement was executed. */
  readonly by: Map<string, number>;
}

const METHODS = ['run', 'get', 'all', 'iterate'] as const;

/** Counts the statements on one database until the test ends: other test files' stores may still work in this process. */
export function countedSql(path: string): SqlCounts & { reset(): void } {
  const db = new (sqliteDriver())(':memory:');
  const statements = Object.getPrototypeOf(db.prepare('SELECT 1')) as Record<string, (...args: unknown[]) => unknown>;
  db.close();
  const counts = {
    statements: 0,
    transactions: 0,
    writes: 0,
    by: new Map<string, number>(),
    reset(): void {
      Object.assign(counts, { statements: 0, transactions: 0, writes: 0 });
      counts.by.clear();
    },
  };
  for (const method of METHODS) {
    const original = statements[method];
    if (!original) continue;
    statements[method] = function (this: Database.Statement, ...args: unknown[]) {
      if (this.database.name === path) count(counts, this);
      return original.apply(this, args);
    };
    afterwards(() => {
      statements[method] = original;
    });
  }
  return counts;
}

function count(counts: SqlCounts, { source, database, readonly }: Database.Statement): void {
  if (database.readonly) return; // the connection of a test that looks on
  counts.statements++;
  counts.by.set(source, (counts.by.get(source) ?? 0) + 1);
  const isWrite = source === 'BEGIN IMMEDIATE' || (!readonly && !database.inTransaction);
  if (database.inTransaction || source === 'PRAGMA data_version') return;
  counts.transactions++;
  if (isWrite) counts.writes++;
}
