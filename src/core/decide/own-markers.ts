import { mayHoldShortMarker } from '../../engine/text/marker.ts';
import { pruneIdsIn } from '../hash.ts';
import type { Decision } from '../ports.ts';
import type { FoundText } from '../request/found-text.ts';
import type { Job } from './decision.ts';

/** Placeholder for the id that short markers omit. */
export const SHORT_ID = 'short';

/** Prune ids in the markers of a text, and `SHORT_ID` if it contains a short marker. */
export function markedIn(text: string): string[] {
  const ids = pruneIdsIn(text);
  return mayHoldShortMarker(text) ? [...ids, SHORT_ID] : ids;
}

/** Intermediate state while texts that contain markers are decided. */
interface MarkedTexts {
  /** All texts to decide about, in the order of the conversation. */
  readonly open: readonly FoundText[];
  /** Open texts with markers that are not decided yet. */
  readonly rest: ReadonlySet<FoundText>;
  readonly results: ReadonlyMap<FoundText, Decision>;
  /** Prune ids of earlier messages, and ids that the store had when the request arrived. */
  readonly known: ReadonlySet<string>;
  /** The prune id that a text would get. */
  readonly idOf: (job: Job) => string;
}

/**
 * Returns the remaining texts that can be decided now, and whether they contain our markers. A text's decision depends
 * only on earlier texts, so the result is the same whether a conversation arrives turn by turn or all at once. A text
 * waits for all earlier texts that its markers may refer to.
 */
export function decidableTexts({ open, rest, results, known, idOf }: MarkedTexts): Map<FoundText, boolean> {
  const decidable = new Map<FoundText, boolean>();
  const cut = new Set(known);
  const undecided = new Set<string>();
  for (const text of open) {
    const pruneId = results.get(text)?.pruneId;
    if (pruneId) cut.add(pruneId);
    if (!rest.has(text)) continue;
    if (!text.markerIds.some((id) => isAmong(undecided, id))) {
      decidable.set(
        text,
        text.markerIds.some((id) => isAmong(cut, id)),
      );
    }
    undecided.add(idOf(text.job));
  }
  return decidable;
}

/** Whether a marker may refer to one of these ids; a short marker may refer to any. */
function isAmong(ids: ReadonlySet<string>, id: string): boolean {
  return id === SHORT_ID ? ids.size > 0 : ids.has(id);
}
