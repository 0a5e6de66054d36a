import type { JsonCursor, Span } from '../../json/cursor.ts';
import { type OpenMessage, speakerOf } from '../anthropic-messages/scan.ts';
import type { Resume, ScannedBody, ScannedMessage, ScannedText } from '../dialect.ts';
import { keysOf, readFields, type ScanBudget, scanBody, stringHere } from '../scan-body.ts';

/**
 * Walks a body of Converse and finds its messages without decoding their texts.
 *
 * @throws JsonShapeError when the bytes are not one JSON object with at most one `messages` array
 */
export function scanConverseBody(bytes: Buffer, resume?: Resume): ScannedBody {
  return scanBody(bytes, { list: 'messages', message: readMessage }, resume);
}

const MESSAGE_KEYS = keysOf('role', 'content');
const BLOCK_KEYS = keysOf('text', 'toolUse', 'toolResult', 'document');
const CALL_KEYS = keysOf('toolUseId', 'name', 'input');
const RESULT_KEYS = keysOf('toolUseId', 'content');
const PIECE_KEYS = keysOf('text', 'json', 'document');
const DOCUMENT_KEYS = keysOf('name', 'source');
const SOURCE_KEYS = keysOf('text', 'content');
const TEXT_KEYS = keysOf('text');

function readMessage(cursor: JsonCursor, budget: ScanBudget): ScannedMessage {
  const found: OpenMessage = { texts: [], calls: [], opaque: false };
  let role = '';
  const { span, repeated } = readFields(cursor, MESSAGE_KEYS, (key) => {
    if (key === 'role') role = stringHere(cursor);
    else if (cursor.atArray()) cursor.array(() => readBlock(cursor, found, budget));
  });
  found.opaque ||= repeated;
  return speakerOf(role, span, found);
}

/** Reads a block, whose key names its kind. Blocks with two kinds are not understood. */
function readBlock(cursor: JsonCursor, found: OpenMessage, budget: ScanBudget): void {
  budget.piece();
  if (!cursor.atObject()) return;
  let kinds = 0;
  const { repeated } = readFields(cursor, BLOCK_KEYS, (key) => {
    kinds++;
    if (key === 'text') addText(cursor, found, 'words', '', '');
    else if (key === 'toolUse') readCall(cursor, found);
    else if (key === 'toolResult') readResult(cursor, found, budget);
    else readDocument(cursor, found, null, budget);
  });
  found.opaque ||= repeated || kinds > 1;
}

function addText(cursor: JsonCursor, found: OpenMessage, use: ScannedText['use'], callId: string, name: string): void {
  if (cursor.atString()) found.texts.push({ literal: cursor.string(), use, callId, name });
}

function readCall(cursor: JsonCursor, found: OpenMessage): void {
  if (!cursor.atObject()) return;
  let id = '';
  let name = '';
  let args: Span | null = null;
  const { repeated } = readFields(cursor, CALL_KEYS, (key) => {
    if (key === 'toolUseId') id = stringHere(cursor);
    else if (key === 'name') name = stringHere(cursor);
    else args = cursor.value();
  });
  found.opaque ||= repeated;
  found.calls.push({ id, name, args });
}

/** The id may follow the content, so the content is read last. */
function readResult(cursor: JsonCursor, found: OpenMessage, budget: ScanBudget): void {
  if (!cursor.atObject()) return;
  let callId = '';
  let content = -1;
  const { span, repeated } = readFields(cursor, RESULT_KEYS, (key) => {
    if (key === 'toolUseId') callId = stringHere(cursor);
    else content = cursor.at;
  });
  found.opaque ||= repeated;
  if (content < 0) return;
  cursor.at = content;
  if (cursor.atArray()) cursor.array(() => readPiece(cursor, found, callId, budget));
  cursor.at = span.end;
}

/**
 * Reads a part of a result: a text, the strings directly inside a JSON object, or a document. Pictures and videos have
 * no text.
 */
function readPiece(cursor: JsonCursor, found: OpenMessage, callId: string, budget: ScanBudget): void {
  budget.piece();
  if (!cursor.atObject()) return;
  let kinds = 0;
  const { repeated } = readFields(cursor, PIECE_KEYS, (key) => {
    kinds++;
    if (key === 'text') addText(cursor, found, 'result', callId, '');
    else if (key === 'document') readDocument(cursor, found, callId, budget);
    else if (cursor.atObject()) readStrings(cursor, found, callId, budget);
  });
  found.opaque ||= repeated || kinds > 1;
}

function readStrings(cursor: JsonCursor, found: OpenMessage, callId: string, budget: ScanBudget): void {
  const seen = new Set<string>();
  cursor.object((key) => {
    budget.piece();
    found.opaque ||= seen.has(key);
    seen.add(key);
    addText(cursor, found, 'result', callId, '');
  });
}

/** Reads a document in text form. Documents in bytes or in S3 have no text. */
function readDocument(cursor: JsonCursor, found: OpenMessage, callId: string | null, budget: ScanBudget): void {
  if (!cursor.atObject()) return;
  let name = '';
  let source = -1;
  const { span, repeated } = readFields(cursor, DOCUMENT_KEYS, (key) => {
    if (key === 'name') name = stringHere(cursor);
    else source = cursor.at;
  });
  found.opaque ||= repeated;
  if (source < 0) return;
  cursor.at = source;
  const add = (): void =>
    callId === null ? addText(cursor, found, 'document', '', name) : addText(cursor, found, 'result', callId, '');
  if (cursor.atObject()) readSource(cursor, found, add, budget);
  cursor.at = span.end;
}

function readSource(cursor: JsonCursor, found: OpenMessage, add: () => void, budget: ScanBudget): void {
  const { repeated } = readFields(cursor, SOURCE_KEYS, (key) => {
    if (key === 'text') add();
    else if (cursor.atArray()) {
      cursor.array(() => {
        budget.piece();
        if (!cursor.atObject()) return;
        const part = readFields(cursor, TEXT_KEYS, add);
        found.opaque ||= part.repeated;
      });
    }
  });
  found.opaque ||= repeated;
}
