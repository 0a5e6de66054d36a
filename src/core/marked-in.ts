import { mayHoldShortMarker } from '../engine/text/marker.ts';
import { pruneIdsIn } from './hash.ts';

/** Stands for the id that a short marker leaves out. */
export const SHORT_ID = 'short';

/** What the markers of a text name: prune ids, and `SHORT_ID` where some of them are short. */
export function markedIn(text: string): string[] {
  const ids = pruneIdsIn(text);
  return mayHoldShortMarker(text) ? [...ids, SHORT_ID] : ids;
}
