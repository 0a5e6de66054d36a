import { mayHoldShortMarker } from '../../engine/text/marker.ts';
import { pruneIdsIn } from '../hash.ts';
import type { Decision } from '../ports.ts';
import type { FoundText } from '../request/found-text.ts';
import type { Job } from './decision.ts';

/** Stands for the id that a short marker leaves out. */
export const SHORT_ID = 'short';

/** The prune ids in the markers of a text, and `SHORT_ID` if some markers name no id. */
export function markedIn(text: string): string[] {
  const ids = pruneIdsIn(text);
  return mayHoldShortMarker(text) ? [...ids, SHORT_ID] : ids;
}

/** State while a request's texts with markers are decided. */
export interface MarkedTexts {
  /** All texts to decide about, in the order of the conversation. */
  readonly open: readonly FoundText[];
  /** The open texts that contain markers and are not decided yet. */
  readonly rest: ReadonlySet<FoundText>;
  readonly results: ReadonlyMap<FoundText, Decision>;
  /** Prune ids that the store had when the request arrived, and those of earlier messages. */
  readonly known: ReadonlySet<string>;
  /** The id that a text gets if it is cut. */
  readonly idOf: (job: Job) => string;
}

/**
 * Which of the remaining texts can be decided now, and whether they contain one of our markers. A text's decision
 * depends only on earlier texts, so the result is the same whether a conversation arrives turn by turn or all at once.
 * A text waits until the earlier texts that its markers may name are decided.
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

/** Whether a marker may name one of these ids; a short one may name any. */
function isAmong(ids: ReadonlySet<string>, id: string): boolean {
  return id === SHORT_ID ? ids.size > 0 : ids.has(id);
}
