import type { SeenRequest } from '../core/ports/segments.ts';

/** The newest messages are never touched: so many, and the results of the newest turns however many these are. */
const NEWEST_MESSAGES = 12;
const NEWEST_TURNS = 3;

/** How many messages at the end belong to the newest turns; results of calls made together stand in a row. */
export function newestOf({ messages, segments }: SeenRequest): number {
  const starts = turnStarts(segments, NEWEST_TURNS);
  return Math.max(NEWEST_MESSAGES, messages - (starts.at(-1) ?? messages + 1));
}

/** How many turns called tools, as far as their results are still there. */
export function turnsOf({ segments }: SeenRequest): number {
  return turnStarts(segments, Number.POSITIVE_INFINITY).length;
}

/** The first message of each of the newest turns' results, newest first. */
function turnStarts(segments: SeenRequest['segments'], most: number): number[] {
  const starts: number[] = [];
  for (let i = segments.length - 1; i >= 0; i--) {
    const { role, ordinal = 0 } = segments[i] ?? {};
    if (role !== 'tool') continue;
    const start = starts.at(-1);
    if (start === ordinal) continue;
    if (start !== undefined && ordinal === start - 1) starts[starts.length - 1] = ordinal;
    else if (starts.length === most) break;
    else starts.push(ordinal);
  }
  return starts;
}
