import type { JsonCursor, Span } from '../../json/cursor.ts';
import { field, parsed } from '../../json/value.ts';
import type {
  RequestHead,
  Resume,
  Role,
  ScannedBody,
  ScannedCall,
  ScannedMessage,
  ScannedText,
  TextUse,
} from '../dialect.ts';
import { type Keys, keysOf, readFields, readTextPart, type ScanBudget, scanBody, stringHere } from '../scan-body.ts';

/**
 * Walks a body of the messages wire and finds its messages without decoding their texts.
 *
 * @throws JsonShapeError when the bytes are not one JSON object with at most one `messages` array
 */
export function scanMessagesBody(bytes: Buffer, resume?: Resume): ScannedBody {
  return scanBody(bytes, { list: 'messages', history, message: readMessage }, resume);
}

/**
 * Reads `thread: {type: "create"}`, or `{type: "continue", previous_message_id}` with only new messages; and
 * `context_management`.
 */
function history(key: string, value: Buffer): Partial<RequestHead> {
  if (key === 'context_management') return { managesContext: true };
  const thread = key === 'thread' ? parsed(value.toString('utf8')) : null;
  if (thread === null || typeof thread !== 'object') return {};
  const previous = field(thread, 'previous_message_id');
  return { thread: true, ...(typeof previous === 'string' && { previous }) };
}

const MESSAGE_KEYS = keysOf('role', 'content');

export interface OpenMessage {
  readonly texts: ScannedText[];
  readonly calls: ScannedCall[];
  opaque: boolean;
}

/** The result that contains a content block, if any. */
interface Inside {
  readonly callId: string;
}

function readMessage(cursor: JsonCursor, budget: ScanBudget): ScannedMessage {
  let role = '';
  const found: OpenMessage = { texts: [], calls: [], opaque: false };
  const { span, repeated } = readFields(cursor, MESSAGE_KEYS, (key) => {
    if (key === 'role') role = stringHere(cursor);
    else readContent(cursor, null, found, budget);
  });
  found.opaque ||= repeated;
  return speakerOf(role, span, found);
}

/** Sets the use of each text by the role, which may follow the content. */
export function speakerOf(role: string, span: Span, { texts, calls, opaque }: OpenMessage): ScannedMessage {
  if (role === 'assistant') {
    const said = texts.map((text): ScannedText => ({ ...text, use: text.use === 'words' ? 'said' : 'other' }));
    return { span, role, texts: said, calls, opaque };
  }
  if (role !== 'user') {
    // instructions within a conversation have the role `system`
    const others = texts.map((text): ScannedText => ({ ...text, use: 'other', callId: '', name: '' }));
    return { span, role: 'other', texts: others, calls: [], opaque };
  }
  const who: Role =
    texts.some(({ use }) => use === 'result') && texts.every(({ use }) => use === 'result') ? 'tool' : role;
  return { span, role: who, texts, calls: [], opaque };
}

/**
 * Reads a content: one string, or a list of blocks.
 *
 * @param inside - the result that contains it, if any
 */
function readContent(cursor: JsonCursor, inside: Inside | null, found: OpenMessage, budget: ScanBudget): void {
  if (cursor.atString()) found.texts.push(textOf(cursor.string(), inside, 'words', ''));
  else if (cursor.atArray()) cursor.array(() => readBlock(cursor, inside, found, budget));
}

function textOf(literal: Span, inside: Inside | null, use: TextUse, name: string): ScannedText {
  return inside === null
    ? { literal, use, callId: '', name }
    : { literal, use: 'result', callId: inside.callId, name: '' };
}

/** Values of a block's keys; a duplicate relevant key makes the message opaque. */
interface Block {
  type: string;
  text: Span | null;
  /** Id of a call, or of the call that a result answers. */
  id: string;
  name: string;
  title: string;
  input: Span | null;
  /** Offset of the content or source, which is read once the type is known. */
  inner: number;
}

const BLOCK_KEYS = keysOf('type', 'text', 'id', 'tool_use_id', 'name', 'title', 'input', 'content', 'source');

function readBlock(cursor: JsonCursor, inside: Inside | null, found: OpenMessage, budget: ScanBudget): void {
  budget.piece();
  if (!cursor.atObject()) return;
  const block: Block = { type: '', text: null, id: '', name: '', title: '', input: null, inner: -1 };
  const { span, repeated } = readFields(cursor, BLOCK_KEYS, (key) => {
    if (key === 'type') block.type = stringHere(cursor);
    else if (key === 'text') block.text = cursor.atString() ? cursor.string() : null;
    else if (key === 'id' || key === 'tool_use_id') block.id = stringHere(cursor);
    else if (key === 'name') block.name = stringHere(cursor);
    else if (key === 'title') block.title = stringHere(cursor);
    else if (key === 'input') block.input = cursor.value();
    else block.inner = cursor.at;
  });
  found.opaque ||= repeated;
  takeBlock(cursor, block, inside, found, budget);
  cursor.at = span.end;
}

/** Reads the relevant parts of a block. Unknown kinds of blocks are never changed. */
function takeBlock(
  cursor: JsonCursor,
  block: Block,
  inside: Inside | null,
  found: OpenMessage,
  budget: ScanBudget,
): void {
  const { type, text, id, name, title, input, inner } = block;
  if (type === 'text' && text !== null) found.texts.push(textOf(text, inside, 'words', ''));
  else if (type === 'tool_use') found.calls.push({ id, name, args: input });
  else if (inner < 0) return;
  else if (type === 'tool_result' && inside === null) {
    cursor.at = inner;
    readContent(cursor, { callId: id }, found, budget);
  } else if (type === 'document') {
    cursor.at = inner;
    takeText(cursor, SOURCE_KEYS, inside, title, found);
  } else if (type === 'search_result') {
    cursor.at = inner;
    if (!cursor.atArray()) return;
    cursor.array(() => {
      budget.piece();
      takeText(cursor, undefined, inside, title, found);
    });
  }
}

const SOURCE_KEYS = keysOf('type', 'data');

/**
 * Reads the text of a plain-text document or of a part of a search result. Documents in other forms (base64, URL, file
 * id) have no text. Everything else is skipped, regardless of nesting.
 */
function takeText(
  cursor: JsonCursor,
  keys: Keys | undefined,
  inside: Inside | null,
  title: string,
  found: OpenMessage,
): void {
  if (!cursor.atObject()) return;
  const { literal, repeated } = readTextPart(cursor, keys);
  found.opaque ||= repeated;
  if (literal !== null) found.texts.push(textOf(literal, inside, 'document', title));
}
