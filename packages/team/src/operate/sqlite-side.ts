import { resolve } from 'node:path';
import type { MovedTable, Side, Value } from 'mcp-pruner/store/move/tables.ts';
import type { PartTables } from 'mcp-pruner/store/part-tables.ts';
import { Connection } from 'mcp-pruner/store/sqlite/connection.ts';
import { sideName } from './side-name.ts';

/** The tables of a SQLite file. @throws errors of the file system or SQLite, or a StoreFileError */
export function openSqliteSide(path: string, readonly: boolean, parts: readonly PartTables[]): Side {
  const connection = new Connection({ path, readonly, maxFileBytes: 0, sync: 'normal', parts });
  const { db } = connection;
  // SQLite stores the bytes of originals in a separate table
  const isApart = ({ name }: MovedTable, column: string): boolean => name === 'snapshot' && column === 'data';
  const columnOf = (table: MovedTable, column: string): string => (isApart(table, column) ? 'c.data' : `t.${column}`);
  const fromOf = ({ name }: MovedTable): string =>
    name === 'snapshot' ? 'snapshot t JOIN content c ON c.id = t.content' : `"${name}" t`;
  const side: Side = {
    name: sideName(`sqlite ${resolve(path)}`),
    count: async ({ name }) => Number(db.prepare(`SELECT count(*) FROM "${name}"`).pluck().get()),
    async read(table, after) {
      const behind =
        after === null ? '' : `WHERE (${table.key.map((key) => `t.${key}`)}) > (${table.key.map(() => '?')})`;
      const sql = `SELECT ${table.columns.map((column) => columnOf(table, column))} FROM ${fromOf(table)} ${behind} ORDER BY ${table.key.map((key) => `t.${key}`)} LIMIT ?`;
      return db
        .prepare(sql)
        .raw()
        .all(...(after ?? []), table.page) as Value[][];
    },
    async last(table) {
      const order = table.key.map((key) => `${key} DESC`);
      const row = db.prepare(`SELECT ${table.key} FROM "${table.name}" ORDER BY ${order} LIMIT 1`).raw().get();
      return (row as Value[] | undefined) ?? null;
    },
    async add(table, rows) {
      const columns = table.columns.map((column) => (isApart(table, column) ? 'content' : column));
      const insert = db.prepare(
        `INSERT OR IGNORE INTO "${table.name}" (${columns}) VALUES (${columns.map(() => '?')})`,
      );
      const content = db.prepare('INSERT INTO content (data) VALUES (?)');
      const dataAt = table.columns.findIndex((column) => isApart(table, column));
      db.transaction(() => {
        for (const row of rows) {
          insert.run(row.map((value, i) => (i === dataAt ? content.run(value).lastInsertRowid : value)));
        }
      })();
    },
    async finish() {
      for (const sql of parts.flatMap(({ afterMove }) => afterMove)) db.prepare(sql).run(); // other sequences continue by themselves
    },
    async origin() {
      const row = db.prepare('SELECT name FROM meter WHERE name LIKE ?').pluck().get('moved_from:%');
      return typeof row === 'string' ? row.slice('moved_from:'.length) : null;
    },
    async markOrigin(source) {
      db.prepare('INSERT OR IGNORE INTO meter VALUES (?, 1)').run(`moved_from:${source}`);
    },
    close: async () => connection.close(),
  };
  return side;
}
