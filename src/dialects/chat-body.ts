import { JsonCursor, JsonShapeError, type Span } from './json-cursor.ts';

/** A tool call of an assistant message; `args` is the range of the arguments' JSON string (or object). */
export interface ScannedCall {
  readonly id: string;
  readonly name: string;
  readonly args: Span | null;
}

/** A text of a message: the whole content, or one text part of it. */
export interface ScannedText {
  /** The JSON string, quotes included. */
  readonly literal: Span;
  /** Index among the content's parts; 0 for plain string content. */
  readonly part: number;
}

/** What the pruner must know of one message; ranges point into the body. */
export interface ScannedMessage {
  readonly span: Span;
  readonly role: string;
  readonly texts: readonly ScannedText[];
  readonly toolCallId: string;
  /** `name` of the message (legacy function results carry the function's name here). */
  readonly name: string;
  readonly calls: readonly ScannedCall[];
  /** Something in it is ambiguous (a duplicate key that matters): it is never touched. */
  readonly opaque: boolean;
}

export interface ScannedBody {
  readonly model: string;
  readonly stream: boolean;
  readonly messages: readonly ScannedMessage[];
}

/** Where a scan may go on: right behind a message whose bytes, and all before, are known from an earlier body. */
export interface Resume {
  readonly at: number;
  readonly model: string;
  readonly stream: boolean;
  readonly messages: readonly ScannedMessage[];
}

/**
 * Walks a chat/completions body and finds its messages without decoding their texts.
 *
 * @throws JsonShapeError when the bytes are not one JSON object with at most one `messages` array
 */
export function scanChatBody(bytes: Buffer, resume?: Resume): ScannedBody {
  const cursor = new JsonCursor(bytes, resume?.at ?? 0);
  const messages: ScannedMessage[] = resume ? [...resume.messages] : [];
  let model = resume?.model ?? '';
  let stream = resume?.stream ?? false;
  let seen = resume !== undefined;
  const topLevel = (key: string): void => {
    if (key === 'model' && cursor.atString()) model = cursor.text(cursor.string()) ?? '';
    else if (key === 'stream') stream = bytes.toString('latin1', cursor.at, cursor.at + 4) === 'true';
    else if (key === 'messages') {
      if (seen) throw new JsonShapeError('two lists of messages');
      seen = true;
      if (cursor.atArray()) cursor.array(() => readMessage(cursor, messages));
    }
  };
  if (resume) {
    while (cursor.take(0x2c)) readMessage(cursor, messages);
    cursor.expect(0x5d);
    while (cursor.take(0x2c)) cursor.member(topLevel);
    cursor.expect(0x7d);
  } else cursor.object(topLevel);
  if (cursor.peek() !== undefined) throw new JsonShapeError(`text behind the body at byte ${cursor.at}`);
  return { model, stream, messages };
}

function readMessage(cursor: JsonCursor, into: ScannedMessage[]): void {
  if (!cursor.atObject()) {
    const span = cursor.value();
    into.push({ span, role: '', texts: [], toolCallId: '', name: '', calls: [], opaque: true });
    return;
  }
  let role = '';
  let toolCallId = '';
  let name = '';
  let opaque = false;
  const texts: ScannedText[] = [];
  const calls: ScannedCall[] = [];
  let seen = 0;
  const span = cursor.object((key) => {
    const bit = MESSAGE_KEYS.get(key);
    if (bit === undefined) return;
    if ((seen & bit) !== 0) opaque = true;
    seen |= bit;
    if (key === 'role') role = stringHere(cursor);
    else if (key === 'tool_call_id') toolCallId = stringHere(cursor);
    else if (key === 'name') name = stringHere(cursor);
    else if (key === 'content') opaque = readContent(cursor, texts) || opaque;
    else if (key === 'function_call') readFunction(cursor, '', calls);
    else if (cursor.atArray()) cursor.array(() => readCall(cursor, calls));
  });
  into.push({ span, role, texts, toolCallId, name, calls, opaque });
}

/** The keys that matter, a bit for each. */
const MESSAGE_KEYS = new Map(
  ['role', 'content', 'tool_call_id', 'name', 'tool_calls', 'function_call'].map((key, i) => [key, 1 << i]),
);

function stringHere(cursor: JsonCursor): string {
  return cursor.atString() ? (cursor.text(cursor.string()) ?? '') : '';
}

/** Collects the texts of a content; `true` when a part is ambiguous. */
function readContent(cursor: JsonCursor, texts: ScannedText[]): boolean {
  if (cursor.atString()) {
    texts.push({ literal: cursor.string(), part: 0 });
    return false;
  }
  let ambiguous = false;
  if (cursor.atArray()) {
    cursor.array((part) => {
      if (!cursor.atObject()) return;
      let type: string | undefined;
      let literal: Span | null | undefined;
      cursor.object((key) => {
        if (key === 'type') {
          if (type !== undefined) ambiguous = true;
          type = stringHere(cursor);
        } else if (key === 'text') {
          if (literal !== undefined) ambiguous = true;
          literal = cursor.atString() ? cursor.string() : null;
        }
      });
      if (literal && type === 'text') texts.push({ literal, part });
    });
  }
  return ambiguous;
}

function readCall(cursor: JsonCursor, calls: ScannedCall[]): void {
  if (!cursor.atObject()) return;
  let id = '';
  const here: ScannedCall[] = [];
  cursor.object((key) => {
    if (key === 'id') id = stringHere(cursor);
    else if (key === 'function') readFunction(cursor, '', here);
  });
  const call = here[0];
  if (call) calls.push({ id, name: call.name, args: call.args });
}

function readFunction(cursor: JsonCursor, id: string, calls: ScannedCall[]): void {
  if (!cursor.atObject()) return;
  let name = '';
  let args: Span | null = null;
  cursor.object((key) => {
    if (key === 'name') name = stringHere(cursor);
    else if (key === 'arguments') args = cursor.value();
  });
  calls.push({ id, name, args });
}
