import { resolve } from 'node:path';
import { Connection } from '../sqlite/connection.ts';
import { sideName } from './side-name.ts';
import type { MovedTable, Side, Value } from './tables.ts';

/** The tables of a SQLite file. @throws what the file system or SQLite says, or a StoreFileError */
export function openSqliteSide(path: string, readonly: boolean): Side {
  const connection = new Connection({ path, readonly, maxFileBytes: 0, sync: 'normal' });
  const { db } = connection;
  // the bytes of a text stand in a table of their own here
  const columnOf = (column: string): string => (column === 'data' ? 'c.data' : `t.${column}`);
  const fromOf = ({ name }: MovedTable): string =>
    name === 'snapshot' ? 'snapshot t JOIN content c ON c.id = t.content' : `"${name}" t`;
  const side: Side = {
    name: sideName(`sqlite ${resolve(path)}`),
    count: async ({ name }) => Number(db.prepare(`SELECT count(*) FROM "${name}"`).pluck().get()),
    async read(table, after) {
      const behind =
        after === null ? '' : `WHERE (${table.key.map((key) => `t.${key}`)}) > (${table.key.map(() => '?')})`;
      const sql = `SELECT ${table.columns.map(columnOf)} FROM ${fromOf(table)} ${behind} ORDER BY ${table.key.map((key) => `t.${key}`)} LIMIT ?`;
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
      const columns = table.columns.map((column) => (column === 'data' ? 'content' : column));
      const insert = db.prepare(
        `INSERT OR IGNORE INTO "${table.name}" (${columns}) VALUES (${columns.map(() => '?')})`,
      );
      const content = db.prepare('INSERT INTO content (data) VALUES (?)');
      const dataAt = table.columns.indexOf('data');
      db.transaction(() => {
        for (const row of rows) {
          insert.run(row.map((value, i) => (i === dataAt ? content.run(value).lastInsertRowid : value)));
        }
      })();
    },
    finish: async () => undefined, // numbers go on behind the largest that was ever there
    async origin() {
      const row = db.prepare('SELECT name FROM meter WHERE name LIKE ?').pluck().get('moved_from:%');
      return typeof row === 'string' ? row.slice('moved_from:'.length) : null;
    },
    async markOrigin(source) {
      db.prepare('INSERT OR IGNORE INTO meter VALUES (?, 1)').run(`moved_from:${source}`);
    },
    async leftBehind() {
      const names = db
        .prepare(
          "SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'fleet!_%' ESCAPE '!' AND name <> 'fleet_counter'",
        )
        .pluck()
        .all();
      return names.reduce<number>(
        (sum, name) => sum + Number(db.prepare(`SELECT count(*) FROM "${name}"`).pluck().get()),
        0,
      );
    },
    close: async () => connection.close(),
  };
  return side;
}
