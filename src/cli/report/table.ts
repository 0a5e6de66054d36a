import { printable } from '../command.ts';
import { htmlText } from '../html-text.ts';
import { table } from '../table.ts';

type Value = string | number | null;

/** A column of a table: what people read, and what programs read. A column may be for one of them only. */
export interface Column<Row> {
  readonly shown?: readonly [heading: string, cell: (row: Row) => string];
  readonly csv?: readonly [field: string, value: (row: Row) => Value];
}

/** A table as people read it, for a terminal and for HTML; the first row says what the columns are. */
export interface Part {
  readonly title: string;
  /** A sentence below the heading, or `''`. */
  readonly note: string;
  /** The number of first columns that contain words. */
  readonly textColumns: number;
  readonly rows: readonly (readonly string[])[];
}

/** Describes a part of a report once: each column with its heading and its cells. */
export function part<Row>(
  about: Omit<Part, 'rows'>,
  columns: readonly (readonly [heading: string, cell: (row: Row) => string])[],
  rows: readonly Row[],
): Part {
  return {
    ...about,
    rows: [columns.map(([heading]) => heading), ...rows.map((row) => columns.map(([, cell]) => cell(row)))],
  };
}

/** The shown columns of a table. */
export function shownRows<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): readonly (readonly string[])[] {
  return part(
    { title: '', note: '', textColumns: 1 },
    columns.flatMap(({ shown }) => (shown ? [shown] : [])),
    rows,
  ).rows;
}

/** Rows on a terminal. Names come from clients: they are printed on one line and without control characters. */
export function rowsAsText(rows: Part['rows'], textColumns: number, width: number | undefined): string {
  const safe = rows.map((row) => row.map((cell) => printable(cell).replaceAll(/[\t\n]/g, ' ')));
  return table(safe, { textColumns, width });
}

/** A part of an HTML page. Names come from clients: they are text, whatever they look like. */
export function partAsHtml({ title, note, textColumns, rows: [heads = [], ...rows] }: Part): string {
  const cells = (row: readonly string[], tag: string): string =>
    row.map((cell, i) => `<${tag}${i < textColumns ? ' class="w"' : ''}>${htmlText(cell)}</${tag}>`).join('');
  const body = rows.map((row) => `<tr>${cells(row, 'td')}</tr>`).join('');
  const noteHtml = note === '' ? '' : `<p>${htmlText(note)}</p>`;
  return `<section><h2>${htmlText(title)}</h2>${noteHtml}<div class="t"><table><thead><tr>${cells(heads, 'th')}</tr></thead><tbody>${body}</tbody></table></div></section>`;
}

/** CSV as in RFC 4180: a heading, lines that end with CRLF, quotes where needed. */
export function rowsAsCsv<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): string {
  const fields = columns.flatMap(({ csv }) => (csv ? [csv] : []));
  const lines: Value[][] = [
    fields.map(([field]) => field),
    ...rows.map((row) => fields.map(([, value]) => value(row))),
  ];
  return lines.map((cells) => `${cells.map(csvCell).join(',')}\r\n`).join('');
}

/** A name that a spreadsheet would take for a formula gets an apostrophe in front. */
function csvCell(value: Value): string {
  if (value === null) return '';
  if (typeof value === 'number') return String(Math.round(value * 1e6) / 1e6);
  const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
