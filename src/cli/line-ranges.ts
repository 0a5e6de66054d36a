import { type PruneReference, readPruneReference } from '../core/calls/prune-reference.ts';
import type { LineRange } from '../engine/types.ts';
import { UserError } from '../errors/errors.ts';
import { type Call, textOption, UsageError } from './command.ts';

/**
 * Parses the value of `--lines`: `10-40`, `7` or a comma-separated list.
 *
 * @throws UsageError
 */
function parseRanges(text: string): LineRange[] {
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

/** The target of a call: a prune id or a marker, and the lines from `--lines` or else from the marker. */
export interface NamedLines extends Pick<PruneReference, 'pruneId'> {
  /** `null` means the whole text. */
  readonly ranges: readonly LineRange[] | null;
}

/** @throws UsageError */
export function namedLines(call: Call): NamedLines {
  const { pruneId, range } = readPruneReference(call.positionals[0] ?? '');
  const lines = textOption(call, 'lines');
  if (lines !== undefined && lines !== '') return { pruneId, ranges: parseRanges(lines) };
  return { pruneId, ranges: range === null ? null : [range] };
}

/** @throws UserError if a range begins beyond the end of the text */
export function checkWithin(ranges: readonly LineRange[], lineCount: number): void {
  const beyond = ranges.find(({ startLine }) => startLine > lineCount);
  if (!beyond) return;
  const lines = `${lineCount} ${lineCount === 1 ? 'line' : 'lines'}`;
  throw new UserError(`the text has ${lines}: ${beyond.startLine}-${beyond.endLine} begins beyond its end`);
}
