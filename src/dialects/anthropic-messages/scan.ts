import type { JsonCursor, Span } from '../../json/cursor.ts';
import type { Resume, Role, ScannedBody, ScannedCall, ScannedMessage, ScannedText, TextUse } from '../dialect.ts';
import { scanBody, stringHere } from '../scan-body.ts';
import type { ScanBudget } from '../scan-budget.ts';

/**
 * Walks a body of the messages wire and finds its messages without decoding their texts.
 *
 * @throws JsonShapeError when the bytes are not one JSON object with at most one `messages` array
 */
export function scanMessagesBody(bytes: Buffer, resume?: Resume): ScannedBody {
  return scanBody(bytes, { list: 'messages', message: readMessage }, resume);
}

/** What was found of a message so far. */
interface Found {
  readonly texts: ScannedText[];
  readonly calls: ScannedCall[];
  opaque: boolean;
}

/** Of a block of a content: which result it stands in, if in one. */
interface Inside {
  readonly callId: string;
}

function readMessage(cursor: JsonCursor, budget: ScanBudget): ScannedMessage {
  if (!cursor.atObject()) return { span: cursor.value(), role: 'other', texts: [], calls: [], opaque: true };
  let role: string | undefined;
  let content: Span | undefined;
  const found: Found = { texts: [], calls: [], opaque: false };
  const span = cursor.object((key) => {
    if (key === 'role') {
      found.opaque ||= role !== undefined;
      role = stringHere(cursor);
    } else if (key === 'content') {
      found.opaque ||= content !== undefined;
      content = { start: cursor.at, end: cursor.at };
      readContent(cursor, null, found, budget);
    }
  });
  return speakerOf(role ?? '', span, found);
}

/** The role is known only behind the content where that stands first: what a text is for is settled here. */
function speakerOf(role: string, span: Span, { texts, calls, opaque }: Found): ScannedMessage {
  if (role === 'assistant') {
    const said = texts.map((text): ScannedText => ({ ...text, use: text.use === 'words' ? 'said' : 'other' }));
    return { span, role, texts: said, calls, opaque };
  }
  if (role !== 'user') {
    // instructions in the middle of a conversation stand under the role `system`
    const others = texts.map((text): ScannedText => ({ ...text, use: 'other', callId: '', name: '' }));
    return { span, role: 'other', texts: others, calls: [], opaque };
  }
  const who: Role =
    texts.some(({ use }) => use === 'result') && texts.every(({ use }) => use === 'result') ? 'tool' : role;
  return { span, role: who, texts, calls: [], opaque };
}

/** A content: one string, or a list of blocks. `inside` a result all of it belongs to the result. */
function readContent(cursor: JsonCursor, inside: Inside | null, found: Found, budget: ScanBudget): void {
  if (cursor.atString()) found.texts.push(textOf(cursor.string(), inside, 'words', ''));
  else if (cursor.atArray()) cursor.array(() => readBlock(cursor, inside, found, budget));
}

function textOf(literal: Span, inside: Inside | null, use: TextUse, name: string): ScannedText {
  return inside === null
    ? { literal, use, callId: '', name }
    : { literal, use: 'result', callId: inside.callId, name: '' };
}

/** What the keys of a block say; a key that matters and stands twice makes the message opaque. */
interface Block {
  type: string;
  text: Span | null;
  /** Of a call and of a result. */
  id: string;
  name: string;
  title: string;
  input: Span | null;
  /** Where its own content or source begins, read once its type is known. */
  inner: number;
}

const KEYS = new Map(
  ['type', 'text', 'id', 'tool_use_id', 'name', 'title', 'input', 'content', 'source'].map((key, i) => [key, 1 << i]),
);

function readBlock(cursor: JsonCursor, inside: Inside | null, found: Found, budget: ScanBudget): void {
  budget.piece();
  if (!cursor.atObject()) return;
  const block: Block = { type: '', text: null, id: '', name: '', title: '', input: null, inner: -1 };
  let seen = 0;
  const { start, end } = cursor.object((key) => {
    const bit = KEYS.get(key);
    if (bit === undefined) return;
    if ((seen & bit) !== 0) found.opaque = true;
    seen |= bit;
    if (key === 'type') block.type = stringHere(cursor);
    else if (key === 'text') block.text = cursor.atString() ? cursor.string() : null;
    else if (key === 'id' || key === 'tool_use_id') block.id = stringHere(cursor);
    else if (key === 'name') block.name = stringHere(cursor);
    else if (key === 'title') block.title = stringHere(cursor);
    else if (key === 'input') block.input = cursor.value();
    else block.inner = cursor.at;
  });
  if (end <= start) return;
  takeBlock(cursor, block, inside, found, budget);
  cursor.at = end;
}

/** Takes what may be read of a block; kinds that are not named here are never touched. */
function takeBlock(cursor: JsonCursor, block: Block, inside: Inside | null, found: Found, budget: ScanBudget): void {
  const { type, text, id, name, title, input, inner } = block;
  if (type === 'text' && text !== null) found.texts.push(textOf(text, inside, 'words', ''));
  else if (type === 'tool_use') found.calls.push({ id, name, args: input });
  else if (inner < 0) return;
  else if (type === 'tool_result' && inside === null) {
    cursor.at = inner;
    readContent(cursor, { callId: id }, found, budget);
  } else if (type === 'document') {
    cursor.at = inner;
    const data = plainSource(cursor, found);
    if (data !== null) found.texts.push(textOf(data, inside, 'document', title));
  } else if (type === 'search_result') {
    cursor.at = inner;
    if (cursor.atArray()) cursor.array(() => readSearched(cursor, inside, title, found, budget));
  }
}

/** The text of a document that is given as plain text; others (base64, a URL, a file's id) have none here. */
function plainSource(cursor: JsonCursor, found: Found): Span | null {
  if (!cursor.atObject()) return null;
  let type: string | undefined;
  let data: Span | null | undefined;
  cursor.object((key) => {
    if (key === 'type') {
      found.opaque ||= type !== undefined;
      type = stringHere(cursor);
    } else if (key === 'data') {
      found.opaque ||= data !== undefined;
      data = cursor.atString() ? cursor.string() : null;
    }
  });
  return type === 'text' && data ? data : null;
}

/** A piece of a search result: a text like a document's. What else stands there is passed over, however deep it goes. */
function readSearched(
  cursor: JsonCursor,
  inside: Inside | null,
  title: string,
  found: Found,
  budget: ScanBudget,
): void {
  budget.piece();
  if (!cursor.atObject()) return;
  let type: string | undefined;
  let text: Span | null | undefined;
  cursor.object((key) => {
    if (key === 'type') {
      found.opaque ||= type !== undefined;
      type = stringHere(cursor);
    } else if (key === 'text') {
      found.opaque ||= text !== undefined;
      text = cursor.atString() ? cursor.string() : null;
    }
  });
  if (type === 'text' && text) found.texts.push(textOf(text, inside, 'document', title));
}
