import { isFailed } from 'mcp-pruner/base/failed-result.ts';
import type { ResultMarks } from 'mcp-pruner/core/ports/result-marks.ts';
import type { OverTokenBudget, SeenRequest, SeenSegment } from 'mcp-pruner/core/ports/segments.ts';
import { stashId } from 'mcp-pruner/core/segments/text-segments.ts';
import { pathKey } from './keys.ts';
import { NEWEST_MESSAGES } from './newest.ts';
import { readLines } from './sweep.ts';

export interface StayingOptions {
  readonly marks: ResultMarks;
}

/**
 * Results that no automatic step puts aside, because the work still needs them: newest readings of relevant files, tool
 * errors, texts with `NO_PRUNE` directives, and recovered results.
 *
 * @throws StoreUnavailable
 */
export async function stayingIn(
  options: StayingOptions,
  { scope: { project }, request, messageAt }: OverTokenBudget,
): Promise<(segment: SeenSegment) => boolean> {
  const results = request.segments.filter(({ role }) => role === 'tool');
  const stored = results.map((segment) => ({ segment, ids: storedIds(project, segment) }));
  const givenOut = await options.marks.givenOut(stored.flatMap(({ ids }) => ids));
  const needed = stored.filter(({ ids }) => ids.some((id) => givenOut.has(id))).map(({ segment }) => segment);
  const kept = new Set([...keptReadings(request), ...needed]);
  return (segment) => {
    const { text, callId, ordinal } = segment;
    return kept.has(segment) || text.includes('NO_PRUNE') || isFailed(text, callId, () => messageAt(ordinal));
  };
}

/** Ids under which a segment's text is stored: of its cuts, and of its stash. */
export function storedIds(project: string, { id, pruneIds }: SeenSegment): readonly string[] {
  return [...pruneIds, stashId(project, id)];
}

/**
 * Readings of files that were edited, or are named in a call or text of the newest messages: the newest of each file
 * and, while the file was edited recently or is named, all others whose lines no later reading shows.
 */
function keptReadings({ messages, segments }: SeenRequest): ReadonlySet<SeenSegment> {
  const newest = segments.filter(({ ordinal }) => ordinal >= messages - NEWEST_MESSAGES);
  const isNamed = (path: string): boolean =>
    newest.some(({ text, wanted }) => text.includes(path) || wanted.includes(path));
  const recent = segments.filter(({ role }) => role === 'tool').at(-RECENT_RESULTS)?.ordinal ?? 0;
  const edited = new Map<number, number>();
  for (const segment of segments) for (const path of segment.edited) edited.set(pathKey(path), segment.ordinal);
  const stays = (key: number, reading: SeenSegment, isNewest: boolean): boolean => {
    const at = edited.get(key);
    return (at !== undefined && (isNewest || at >= recent)) || isNamed(reading.path);
  };
  return new Set(
    [...currentReadings(segments)].flatMap(([key, readings]) =>
      readings.filter((reading, i) => stays(key, reading, i === readings.length - 1)),
    ),
  );
}

/** Number of newest results; a file that one of them edited keeps all its current readings. */
const RECENT_RESULTS = 30;

/** Readings of each file, by its key, without those whose lines a later reading shows; oldest first. */
export function currentReadings(segments: readonly SeenSegment[]): Map<number, SeenSegment[]> {
  const readings = new Map<number, SeenSegment[]>();
  for (const segment of segments) {
    if (segment.effect !== 'read' || segment.path === '') continue;
    const key = pathKey(segment.path);
    const { from, to } = readLines(segment);
    const isCovered = (earlier: SeenSegment): boolean => {
      const lines = readLines(earlier);
      return from <= lines.from && to >= lines.to;
    };
    readings.set(key, [...(readings.get(key) ?? []).filter((earlier) => !isCovered(earlier)), segment]);
  }
  return readings;
}
