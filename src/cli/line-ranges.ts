import type { LineRange } from '../engine/types.ts';
import { UsageError } from './command.ts';

/**
 * Reads the value of `--lines`: `10-40`, `7` or several of them with commas between.
 *
 * @throws UsageError
 */
export function parseRanges(text: string): LineRange[] {
  return text.split(',').map((part) => {
    const [, first, last] = /^\s*(\d{1,9})(?:-(\d{1,9}))?\s*$/.exec(part) ?? [];
    const range = { startLine: Number(first), endLine: Number(last ?? first) };
    if (first === undefined || range.startLine < 1 || range.startLine > range.endLine) {
      throw new UsageError(
        `--lines ${JSON.stringify(text)} is not a range of lines: write 10-40 or 3,10-40, from 1 on`,
      );
    }
    return range;
  });
}
