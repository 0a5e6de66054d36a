import { printable } from './command.ts';
import { htmlText } from './html-text.ts';
import { table } from './table.ts';

type Value = string | number | null;

/** A table column, with cells for people and for programs. Either may be missing. */
export interface Column<Row> {
  readonly shown?: readonly [heading: string, cell: (row: Row) => string];
  readonly csv?: readonly [field: string, value: (row: Row) => Value];
}

/** A table for terminal and HTML output; the first row contains the column headings. */
export interface Part {
  readonly title: string;
  /** A sentence below the heading, or `''`. */
  readonly note: string;
  /** Number of leading columns that contain words. */
  readonly textColumns: number;
  readonly rows: readonly (readonly string[])[];
}

/** Builds a part of a report from columns with headings and cells. */
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

/** Rows of the visible columns of a table. */
export function shownRows<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): readonly (readonly string[])[] {
  return part(
    { title: '', note: '', textColumns: 1 },
    columns.flatMap(({ shown }) => (shown ? [shown] : [])),
    rows,
  ).rows;
}

/** Rows on a terminal. Names come from clients, so they are printed on one line without control characters. */
export function rowsAsText(rows: Part['rows'], textColumns: number, width: number | undefined): string {
  const safe = rows.map((row) => row.map((cell) => printable(cell).replaceAll(/[\t\n]/g, ' ')));
  return table(safe, { textColumns, width });
}

/** Formats a part as HTML. Names come from clients and are escaped. */
export function partAsHtml({ title, note, textColumns, rows: [heads = [], ...rows] }: Part): string {
  const cells = (row: readonly string[], tag: string): string =>
    row.map((cell, i) => `<${tag}${i < textColumns ? ' class="w"' : ''}>${htmlText(cell)}</${tag}>`).join('');
  const body = rows.map((row) => `<tr>${cells(row, 'td')}</tr>`).join('');
  const noteHtml = note === '' ? '' : `<p>${htmlText(note)}</p>`;
  return `<section><h2>${htmlText(title)}</h2>${noteHtml}<div class="t"><table><thead><tr>${cells(heads, 'th')}</tr></thead><tbody>${body}</tbody></table></div></section>`;
}

/** Formats CSV according to RFC 4180: heading, CRLF line ends, quotes where needed. */
export function rowsAsCsv<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): string {
  const fields = columns.flatMap(({ csv }) => (csv ? [csv] : []));
  const lines: Value[][] = [
    fields.map(([field]) => field),
    ...rows.map((row) => fields.map(([, value]) => value(row))),
  ];
  return lines.map((cells) => `${cells.map(csvCell).join(',')}\r\n`).join('');
}

/** Prefixes names that spreadsheets would interpret as formulas with an apostrophe. */
function csvCell(value: Value): string {
  if (value === null) return '';
  if (typeof value === 'number') return String(Math.round(value * 1e6) / 1e6);
  const safe = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
