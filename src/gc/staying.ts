import { isFailed } from '../base/failed-result.ts';
import type { ResultMarks } from '../core/ports/result-marks.ts';
import type { OverTokenBudget, SeenRequest, SeenSegment } from '../core/ports/segments.ts';
import { pathKey } from './keys.ts';
import { NEWEST_MESSAGES } from './newest.ts';

export interface StayingOptions {
  readonly marks: Pick<ResultMarks, 'givenOut'>;
  /** The prune id under which a segment is stashed. */
  readonly stashId: (project: string, segmentId: string) => string;
}

/**
 * Results that no automatic step puts aside, because the work still needs them: newest readings of relevant files, tool
 * errors, texts with `NO_PRUNE` directives, and recovered results.
 *
 * @throws StoreUnavailable
 */
export async function stayingIn(
  options: StayingOptions,
  { scope: { project }, request, messageAt }: Pick<OverTokenBudget, 'scope' | 'request' | 'messageAt'>,
): Promise<(segment: SeenSegment) => boolean> {
  const results = request.segments.filter(({ role }) => role === 'tool');
  const stored = results.map((segment) => ({ segment, ids: storedIds(options, project, segment) }));
  const givenOut = await options.marks.givenOut(stored.flatMap(({ ids }) => ids));
  const needed = stored.filter(({ ids }) => ids.some((id) => givenOut.has(id))).map(({ segment }) => segment);
  const kept = new Set([...keptReadings(request), ...needed]);
  return (segment) => {
    const { text, callId, ordinal } = segment;
    return kept.has(segment) || text.includes('NO_PRUNE') || isFailed(text, callId, () => messageAt(ordinal));
  };
}

/** Ids under which a segment's text is stored: of its cuts, and of its stash. */
export function storedIds(
  { stashId }: Pick<StayingOptions, 'stashId'>,
  project: string,
  { id, pruneIds }: SeenSegment,
): readonly string[] {
  return [...pruneIds, stashId(project, id)];
}

/** The newest reading of each file that was edited, or is mentioned in a call or text of the newest messages. */
function keptReadings({ messages, segments }: SeenRequest): ReadonlySet<SeenSegment> {
  const newest = segments.filter(({ ordinal }) => ordinal >= messages - NEWEST_MESSAGES);
  const edited = new Set(segments.flatMap((segment) => segment.edited.map(pathKey)));
  const isNamed = (path: string): boolean =>
    newest.some(({ text, wanted }) => text.includes(path) || wanted.includes(path));
  const readings = new Map<number, SeenSegment>();
  for (const segment of segments)
    if (segment.effect === 'read' && segment.path !== '') readings.set(pathKey(segment.path), segment);
  return new Set([...readings].flatMap(([key, reading]) => (edited.has(key) || isNamed(reading.path) ? reading : [])));
}
