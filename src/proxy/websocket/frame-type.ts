import { JsonCursor } from '../../json/cursor.ts';

/** The frame that requests an answer. */
export const REQUEST = 'response.create';
/** The last events of an answer. */
const LAST = new Set(['response.completed', 'response.incomplete', 'response.failed', 'error']);

/** Whether an event of this type ends an answer. */
export function isLastEvent(type: string): boolean {
  return LAST.has(type);
}

/** Bytes within which clients and providers write the type of a frame. */
const FIRST_BYTES = 120;
const TYPE_FIRST = /^\s*\{\s*"type"\s*:\s*"([\w.-]+)"/;

/** The `type` of a frame that is one JSON object, else `''`. */
export function typeOfFrame(frame: Buffer): string {
  const [, type] = TYPE_FIRST.exec(frame.toString('latin1', 0, FIRST_BYTES)) ?? [];
  return type ?? typeAnywhere(frame);
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
