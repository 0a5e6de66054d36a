import type { OverTokenBudget, SeenRequest, SeenSegment } from '../core/ports/segments.ts';
import { isFailed } from './cold/failed-result.ts';
import { pathKey } from './keys.ts';
import { NEWEST_MESSAGES } from './newest.ts';

/**
 * The results that the work still needs, which no automatic step puts aside: the newest reading of a file that matters,
 * errors of tools, and texts with `NO_PRUNE` directives.
 */
export function stayingIn({
  request,
  messageAt,
}: Pick<OverTokenBudget, 'request' | 'messageAt'>): (segment: SeenSegment) => boolean {
  const kept = keptReadings(request);
  return (segment) => {
    const { text, callId, ordinal } = segment;
    return kept.has(segment) || text.includes('NO_PRUNE') || isFailed(text, callId, () => messageAt(ordinal));
  };
}

/**
 * The newest reading of each file that the conversation has edited, or that a call or text of the newest messages
 * names.
 */
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
