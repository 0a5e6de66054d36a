/** What is shown of a run. */
export const COLUMNS = {
  client: (row) => row.client,
  version: (row) => row.version,
  wire: (row) => row.wire ?? '-',
  requests: (row) => String(row.requests ?? '-'),
  'bytes before': (row) => String(row.bytesBefore ?? '-'),
  'bytes after': (row) => String(row.bytesAfter ?? '-'),
  'saved %': (row) => (row.bytesBefore ? (100 * (1 - row.bytesAfter / row.bytesBefore)).toFixed(1) : '-'),
  'texts %': (row) => savedInTexts(row.results),
  markers: (row) => String(row.markers ?? '-'),
  seconds: (row) => String(row.seconds),
  result: (row) => (row.failures.length === 0 ? 'ok' : 'FAILED'),
};

const { client, version, wire, requests, seconds, result } = COLUMNS;
/** What is shown of a run behind the checking upstreams. */
export const CHECKED = {
  ...{ client, version, wire, requests },
  reasoning: (row) => String(row.reasoning ?? '-'),
  breaks: (row) => String(row.breaks ?? '-'),
  cuts: (row) => String(row.cuts ?? '-'),
  ...{ seconds, result },
};

/** What went of each pruned text in the last request. */
function savedInTexts(results) {
  if (results === undefined || results.length === 0) return '-';
  return results.map(({ before, after }) => (100 * (1 - after / before)).toFixed(0)).join(' ');
}

/**
 * The results as a table of plain text.
 *
 * @param {readonly object[]} rows
 * @param {Record<string, (row: object) => string>} columns
 */
export function printTable(rows, columns) {
  const names = Object.keys(columns);
  const cells = [names, ...rows.map((row) => names.map((name) => columns[name](row)))];
  const widths = names.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)));
  const line = (row) => `| ${row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`;
  const [head = [], ...rest] = cells;
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rest.map(line)].join('\n');
}
