import type { Io } from './command.ts';
import { filled } from './table.ts';

/** Where output goes to a file or a pipe no line is broken. */
const UNLIMITED = Number.POSITIVE_INFINITY;
/** Narrower than this a paragraph is a column of single words. */
const LEAST_COLUMNS = 30;

/**
 * A text in lines that fit the terminal.
 *
 * @param prefix - stands before each line; `rest` before all but the first
 */
export function wrapped(text: string, prefix: string, io: Pick<Io, 'columns'>, rest = prefix): string {
  const width = io.columns === undefined ? UNLIMITED : Math.max(io.columns, LEAST_COLUMNS);
  return `${filled(text.split(' '), width, prefix, rest)}\n`;
}
