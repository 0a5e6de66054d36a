import type { SeenRequest } from 'mcp-pruner/core/ports/segments.ts';

/** Newest messages that no step prunes; most steps also protect all results of the newest turns. */
export const NEWEST_MESSAGES = 12;
const NEWEST_TURNS = 3;

/** Number of trailing messages that belong to the newest turns; results of parallel calls are adjacent. */
export function newestOf({ messages, segments }: SeenRequest): number {
  const starts = turnStarts(segments, NEWEST_TURNS);
  return Math.max(NEWEST_MESSAGES, messages - (starts.at(-1) ?? messages + 1));
}

/** Number of turns with tool calls whose results are still in the history. */
export function turnsOf({ segments }: SeenRequest): number {
  return turnStarts(segments, Number.POSITIVE_INFINITY).length;
}

/** First result message of each of the newest turns, newest first. */
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
