import type { JsonCursor, Span } from '../../json/cursor.ts';
import type { Resume, Role, ScannedBody, ScannedCall, ScannedMessage, ScannedText } from '../dialect.ts';
import { keysOf, readFields, readTextPart, type ScanBudget, scanBody, stringHere } from '../scan-body.ts';

/**
 * Walks a chat/completions body and finds its messages without decoding their texts.
 *
 * @throws JsonShapeError when the bytes are not one JSON object with at most one `messages` array
 */
export function scanChatBody(bytes: Buffer, resume?: Resume): ScannedBody {
  return scanBody(bytes, { list: 'messages', message: readMessage }, resume);
}

function readMessage(cursor: JsonCursor, budget: ScanBudget): ScannedMessage {
  let role = '';
  let callId = '';
  let name = '';
  let opaque = false;
  const literals: Span[] = [];
  const calls: ScannedCall[] = [];
  const { span, repeated } = readFields(cursor, MESSAGE_KEYS, (key) => {
    if (key === 'role') role = stringHere(cursor);
    else if (key === 'tool_call_id') callId = stringHere(cursor);
    else if (key === 'name') name = stringHere(cursor);
    else if (key === 'content') opaque = readContent(cursor, literals, budget) || opaque;
    else if (key === 'function_call') readFunction(cursor, calls);
    else if (cursor.atArray()) cursor.array(() => readCall(cursor, calls, budget));
  });
  const { who, use } = ROLES.get(role) ?? OTHER;
  const texts = literals.map(
    (literal): ScannedText =>
      use === 'result' ? { literal, use, callId, name } : { literal, use, callId: '', name: '' },
  );
  return { span, role: who, texts, calls, opaque: opaque || repeated };
}

const MESSAGE_KEYS = keysOf('role', 'content', 'tool_call_id', 'name', 'tool_calls', 'function_call');

interface Speaker {
  readonly who: Role;
  readonly use: ScannedText['use'];
}

const OTHER: Speaker = { who: 'other', use: 'other' };
const ROLES = new Map<string, Speaker>([
  ['user', { who: 'user', use: 'words' }],
  ['assistant', { who: 'assistant', use: 'said' }],
  ['tool', { who: 'tool', use: 'result' }],
  // legacy results refer to their function instead of an id
  ['function', { who: 'tool', use: 'result' }],
]);

/** Collects the texts of a content; returns whether any part is ambiguous. */
function readContent(cursor: JsonCursor, texts: Span[], budget: ScanBudget): boolean {
  if (cursor.atString()) {
    texts.push(cursor.string());
    return false;
  }
  let ambiguous = false;
  if (cursor.atArray()) {
    cursor.array(() => {
      budget.piece();
      if (!cursor.atObject()) return;
      const { literal, repeated } = readTextPart(cursor);
      ambiguous ||= repeated;
      if (literal) texts.push(literal);
    });
  }
  return ambiguous;
}

function readCall(cursor: JsonCursor, calls: ScannedCall[], budget: ScanBudget): void {
  budget.piece();
  if (!cursor.atObject()) return;
  let id = '';
  const here: ScannedCall[] = [];
  cursor.object((key) => {
    if (key === 'id') id = stringHere(cursor);
    else if (key === 'function') readFunction(cursor, here);
  });
  const call = here[0];
  if (call) calls.push({ ...call, id });
}

/** @param calls - receives the call, whose id is elsewhere */
function readFunction(cursor: JsonCursor, calls: ScannedCall[]): void {
  if (!cursor.atObject()) return;
  let name = '';
  let args: Span | null = null;
  cursor.object((key) => {
    if (key === 'name') name = stringHere(cursor);
    else if (key === 'arguments') args = cursor.value();
  });
  calls.push({ id: '', name, args });
}
