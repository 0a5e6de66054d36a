import { mayHoldShortMarker } from '../engine/text/marker.ts';
import { pruneIdsIn } from './hash.ts';

/** Stands for the id that a short marker leaves out. */
export const SHORT_ID = 'short';

/** The prune ids in the markers of a text, and `SHORT_ID` if some markers name no id. */
export function markedIn(text: string): string[] {
  const ids = pruneIdsIn(text);
  return mayHoldShortMarker(text) ? [...ids, SHORT_ID] : ids;
}
