import { createHash } from 'node:crypto';
import { UserError } from 'mcp-pruner/errors/errors.ts';
import type { MovedTable, Side, Value } from 'mcp-pruner/store/move/tables.ts';
import { openText } from 'mcp-pruner/store/text-codec.ts';

export interface Progress {
  readonly step: 'copy' | 'verify';
  readonly table: string;
  readonly done: number;
  readonly total: number;
}

/** The result of a move. */
export interface Moved {
  /** Number of rows on each side, per table. */
  readonly rows: Readonly<Record<string, number>>;
  /** Originals that were read back and verified by their hash. */
  readonly originals: number;
}

/**
 * Copies everything from one store into an empty one, or resumes an earlier move of the same store after the last row
 * of each table. Afterwards both sides are compared row by row.
 *
 * @param hashOf - hash function of stored originals
 * @throws UserError if the target contains other data, or if the sides differ at the end
 */
export async function moveStore(
  from: Side,
  to: Side,
  tables: readonly MovedTable[],
  hashOf: (text: string) => string,
  onProgress: (progress: Progress) => void,
): Promise<Moved> {
  await checkTarget(from, to, tables);
  await to.markOrigin(from.name);
  const rows: Record<string, number> = {};
  for (const table of tables) rows[table.name] = await copy(table, from, to, onProgress);
  await to.finish();
  let originals = 0;
  for (const table of tables) originals += await verify(table, from, to, hashOf, onProgress);
  return { rows, originals };
}

async function checkTarget(from: Side, to: Side, tables: readonly MovedTable[]): Promise<void> {
  const origin = await to.origin();
  if (origin === from.name) return;
  for (const table of tables) {
    if ((await to.count(table)) === 0) continue;
    throw new UserError(
      origin === null
        ? `the target is not empty (it has rows in ${table.name}): move into a new store`
        : 'the target was filled from another store: move into a new one',
    );
  }
}

async function copy(
  table: MovedTable,
  from: Side,
  to: Side,
  onProgress: (progress: Progress) => void,
): Promise<number> {
  const total = await from.count(table);
  let done = await to.count(table);
  let after = await to.last(table);
  onProgress({ step: 'copy', table: table.name, done, total });
  for (;;) {
    const rows = await from.read(table, after);
    const last = rows.at(-1);
    if (last === undefined) return total;
    await to.add(table, rows);
    done += rows.length;
    after = keyOf(table, last);
    onProgress({ step: 'copy', table: table.name, done, total });
  }
}

async function verify(
  table: MovedTable,
  from: Side,
  to: Side,
  hashOf: (text: string) => string,
  onProgress: (progress: Progress) => void,
): Promise<number> {
  const total = await from.count(table);
  const there = await to.count(table);
  if (there !== total) throw differs(table, `${total} rows here, ${there} there`);
  let originals = 0;
  let done = 0;
  for (let after: readonly Value[] | null = null; ; ) {
    const [left, right] = [await from.read(table, after), await to.read(table, after)];
    if (digest(left) !== digest(right)) throw differs(table, `rows from number ${done + 1} on are not equal`);
    if (table.name === 'snapshot') originals += await verifyTexts(table, right, hashOf);
    done += left.length;
    onProgress({ step: 'verify', table: table.name, done, total });
    const last = left.at(-1);
    if (last === undefined) return originals;
    after = keyOf(table, last);
  }
}

async function verifyTexts(
  table: MovedTable,
  rows: readonly (readonly Value[])[],
  hashOf: (text: string) => string,
): Promise<number> {
  for (const row of rows) {
    const of = (column: string): Value => row[table.columns.indexOf(column)] ?? null;
    const data = of('data');
    const text = await openText({
      encoding: of('encoding') === 1 ? 1 : 0,
      packing: Number(of('packing')),
      text_bytes: Number(of('text_bytes')),
      data: data instanceof Uint8Array ? Buffer.from(data) : Buffer.alloc(0),
    });
    if (hashOf(text) !== of('hash')) throw differs(table, `the original ${of('hash')} does not match its hash`);
  }
  return rows.length;
}

function differs(table: MovedTable, how: string): UserError {
  return new UserError(
    `the move is not complete: ${table.name}: ${how}. Was one of the stores in use? Stop all programs that use them, and run the move again`,
  );
}

function keyOf(table: MovedTable, row: readonly Value[]): readonly Value[] {
  return table.key.map((column) => row[table.columns.indexOf(column)] ?? null);
}

function digest(rows: readonly (readonly Value[])[]): string {
  const hash = createHash('sha256');
  for (const value of rows.flat()) {
    const bytes = value instanceof Uint8Array ? value : Buffer.from(JSON.stringify(value));
    hash.update(`${bytes.length}:`).update(bytes);
  }
  return hash.digest('hex');
}
