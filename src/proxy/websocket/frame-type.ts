import { JsonCursor } from '../../wires/json/cursor.ts';

/** Type of a frame that requests an answer. */
export const RESPONSE_CREATE = 'response.create';
/** Type of an event with the state of a subscription's limits. */
export const LIMITS = 'codex.rate_limits';

/** The `type` field lies within this many bytes of either end of a frame. */
const EDGE_BYTES = 120;
const TYPE_FIRST = /^\s*\{\s*"type"\s*:\s*"([\w.-]+)"/;
const TYPE_LAST = /"type"\s*:\s*"([\w.-]+)"\s*\}\s*$/;
/** Larger frames are not fully searched: a dense frame of 32 MB would block the event loop for 2 s. */
const MAX_SEARCHED_BYTES = 4 * 1024 * 1024;

/**
 * The `type` of a frame that is one JSON object, otherwise `''`. In frames above 4 MB, only the first and the last
 * field are read.
 */
export function typeOfFrame(frame: Buffer): string {
  const [, first] = TYPE_FIRST.exec(frame.toString('latin1', 0, EDGE_BYTES)) ?? [];
  if (first !== undefined) return first;
  if (frame.length <= MAX_SEARCHED_BYTES) return typeAnywhere(frame);
  const [, last] = TYPE_LAST.exec(frame.toString('latin1', frame.length - EDGE_BYTES)) ?? [];
  return last ?? '';
}

function typeAnywhere(frame: Buffer): string {
  const cursor = new JsonCursor(frame);
  if (!cursor.atObject()) return '';
  let type = '';
  try {
    cursor.object((key) => {
      if (key === 'type' && cursor.atString()) type = cursor.text(cursor.string()) ?? '';
    });
  } catch {
    return '';
  }
  return type;
}
