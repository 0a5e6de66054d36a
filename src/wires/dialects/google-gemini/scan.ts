import type { JsonCursor, Span } from '../../json/cursor.ts';
import type { Resume, Role, ScannedBody, ScannedCall, ScannedMessage, ScannedText } from '../dialect.ts';
import { keysOf, readFields, type ScanBudget, scanBody, stringHere } from '../scan-body.ts';

/**
 * Walks a body of `generateContent` and finds its contents without decoding their texts. Both field spellings of the
 * provider are understood (`functionResponse`, `function_response`).
 *
 * @throws JsonShapeError when the bytes are not one JSON object with at most one `contents` array
 */
export function scanGeminiBody(bytes: Buffer, resume?: Resume): ScannedBody {
  return scanBody(bytes, { list: 'contents', message: readContent }, resume);
}

interface OpenContent {
  readonly texts: ScannedText[];
  readonly calls: ScannedCall[];
  /** The content's own texts: `words` or `said`, depending on the role. */
  readonly own: ScannedText[];
  opaque: boolean;
}

function readContent(cursor: JsonCursor, budget: ScanBudget): ScannedMessage {
  const found: OpenContent = { texts: [], calls: [], own: [], opaque: false };
  let role: string | null = null;
  const { span, repeated } = readFields(cursor, CONTENT_KEYS, (key) => {
    if (key === 'role') role = stringHere(cursor);
    else if (cursor.atArray()) cursor.array(() => readPart(cursor, found, budget));
  });
  // a content without a role belongs to the user
  const who = ROLES.get(role ?? 'user') ?? 'other';
  const use = who === 'user' ? 'words' : who === 'assistant' ? 'said' : 'other';
  const own = new Set(found.own);
  const texts = found.texts.map((text): ScannedText => {
    if (own.has(text)) return { ...text, use };
    // only a client answers calls
    return who === 'user' || text.use === 'thought' ? text : { ...text, use: 'other' };
  });
  return { span, role: who, texts, calls: who === 'assistant' ? found.calls : [], opaque: found.opaque || repeated };
}

const CONTENT_KEYS = keysOf('role', 'parts');

const ROLES = new Map<string, Role>([
  ['user', 'user'],
  ['model', 'assistant'],
  // results from older clients
  ['function', 'user'],
]);

/** Reads one part: a text, a call or a result. Other parts are never changed. */
function readPart(cursor: JsonCursor, found: OpenContent, budget: ScanBudget): void {
  budget.piece();
  if (!cursor.atObject()) return;
  let kinds = 0;
  let thought = false;
  let text: Span | null = null;
  cursor.object((key) => {
    if (key === 'thought') {
      thought = true;
      return;
    }
    if (!KINDS.has(key)) return;
    // a part with two kinds of content is not understood
    if (kinds++ > 0) found.opaque = true;
    if (key === 'text') text = cursor.atString() ? cursor.string() : null;
    else if (key === 'functionCall' || key === 'function_call') readCall(cursor, found);
    else readResponse(cursor, found, budget);
  });
  if (text === null) return;
  const one: ScannedText = { literal: text, use: thought ? 'thought' : 'other', callId: '', name: '' };
  found.texts.push(one);
  if (!thought) found.own.push(one);
}

const KINDS = new Set(['text', 'functionCall', 'function_call', 'functionResponse', 'function_response']);

function readCall(cursor: JsonCursor, found: OpenContent): void {
  if (!cursor.atObject()) return;
  let id = '';
  let name = '';
  let args: Span | null = null;
  cursor.object((key) => {
    if (key === 'id') id = stringHere(cursor);
    else if (key === 'name') name = stringHere(cursor);
    else if (key === 'args') args = cursor.value();
  });
  found.calls.push({ id, name, args });
}

/**
 * Reads a function response. All strings directly inside it are texts, regardless of key (`output`, `result`, `error`).
 */
function readResponse(cursor: JsonCursor, found: OpenContent, budget: ScanBudget): void {
  if (!cursor.atObject()) return;
  const seen = new Set<string>();
  const literals: Span[] = [];
  let callId = '';
  let name = '';
  cursor.object((key) => {
    if (seen.has(key)) found.opaque = true;
    seen.add(key);
    if (key === 'id') callId = stringHere(cursor);
    else if (key === 'name') name = stringHere(cursor);
    else if (key === 'response' && cursor.atObject()) {
      const fields = new Set<string>();
      cursor.object((field) => {
        budget.piece();
        if (fields.has(field)) found.opaque = true;
        fields.add(field);
        if (cursor.atString()) literals.push(cursor.string());
      });
    }
  });
  for (const literal of literals) found.texts.push({ literal, use: 'result', callId, name });
}
