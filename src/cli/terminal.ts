import { styleText } from 'node:util';
import type { Io } from './command.ts';

type Style = Parameters<typeof styleText>[0];

/** Colours text, or leaves it plain where no person would see colours. */
export type Paint = (style: Style, text: string) => string;

/** Colours for stdout: on a terminal, unless `NO_COLOR` is set or the terminal is a dumb one. */
export function painter({ env, outIsTerminal }: Pick<Io, 'env' | 'outIsTerminal'>): Paint {
  const coloured = outIsTerminal && !env.NO_COLOR && env.TERM !== 'dumb';
  // newer Nodes would look at the real stdout once more
  return coloured ? (style, text) => styleText(style, text, { validateStream: false }) : (_, text) => text;
}

/** As `printable`, on one line: a line end from outside could pass for a line of the program's own. */
export function printableLine(text: string): string {
  return printable(text.replaceAll(/[\r\n\u2028\u2029]+/g, '\u2424'));
}

/**
 * Text from outside made harmless for a terminal: control characters are shown rather than obeyed, tabs and line ends
 * stay.
 */
export function printable(text: string): string {
  return text.replaceAll(/[^\P{Cc}\t\n\r]|\r(?!\n)|[\u202a-\u202e\u2066-\u2069]/gu, (char) => {
    const code = char.charCodeAt(0);
    return code < 0x20 ? String.fromCharCode(0x2400 + code) : '\ufffd';
  });
}
