import type { JsonCursor, Span } from '../../json/cursor.ts';
import type { Resume, Role, ScannedBody, ScannedMessage, ScannedText, TextUse } from '../dialect.ts';
import { keysOf, readFields, readTextPart, type ScanBudget, scanBody, stringHere } from '../scan-body.ts';

/**
 * Walks a body of the interactions wire and finds its steps without decoding their texts. Each step is reported as a
 * message. `input` may also be a string, a content, or a list of contents, all written by the user.
 *
 * @throws JsonShapeError when the bytes are not one JSON object with at most one `input`
 */
export function scanInteractionsBody(bytes: Buffer, resume?: Resume): ScannedBody {
  const shape = { list: 'input', previous: 'previous_interaction_id', message: readStep, only: readOnly };
  const scanned = scanBody(bytes, shape, resume);
  // the answer to a first request may bring a thought that belongs to what was sent here
  const isFirst = scanned.messages.every(({ role }) => role !== 'assistant');
  return isFirst ? { ...scanned, reasoning: true } : scanned;
}

function readOnly(cursor: JsonCursor, budget: ScanBudget): ScannedMessage | null {
  if (cursor.atObject()) return readStep(cursor, budget);
  if (!cursor.atString()) return null;
  const span = cursor.string();
  const text: ScannedText = { literal: span, use: 'words', callId: '', name: '' };
  return { span, role: 'user', texts: [text], calls: [], opaque: false };
}

/** Steps with user or model text. Steps of other types without a row here are never changed. */
const SPOKEN = new Map<string, { readonly role: Role; readonly use: TextUse }>([
  ['user_input', { role: 'user', use: 'words' }],
  ['model_output', { role: 'assistant', use: 'said' }],
]);
/** Calls of the provider's own tools. */
const SERVER_CALL = /^(?:code_execution|file_search|google_maps|google_search|mcp_server_tool|url_context)_call$/;

/** Relevant fields of a step. `content` and `result` are offsets, -1 if absent. */
interface Step {
  type: string;
  id: string;
  callId: string;
  name: string;
  content: number;
  result: number;
  args: Span | null;
  /** Text of a content outside a step. */
  text: Span | null;
}

const STEP_KEYS = keysOf('type', 'id', 'call_id', 'name', 'content', 'result', 'arguments', 'text');

function readStep(cursor: JsonCursor, budget: ScanBudget): ScannedMessage {
  const step: Step = {
    ...{ type: '', id: '', callId: '', name: '' },
    ...{ content: -1, result: -1, args: null, text: null },
  };
  const { span, repeated } = readFields(cursor, STEP_KEYS, (key) => readField(cursor, key, step));
  const texts: ScannedText[] = [];
  const opaque = readTexts(cursor, step, texts, budget) || repeated;
  cursor.at = span.end;
  const { type, id, name, args } = step;
  if (type === 'function_call') {
    return { span, role: 'assistant', texts: [], calls: [{ id, name, args }], opaque };
  }
  const role = roleOf(type);
  return { span, role, texts, calls: [], opaque, ...(type === 'thought' && { reasoning: true }) };
}

function readField(cursor: JsonCursor, key: string, step: Step): void {
  if (key === 'type') step.type = stringHere(cursor);
  else if (key === 'id') step.id = stringHere(cursor);
  else if (key === 'call_id') step.callId = stringHere(cursor);
  else if (key === 'name') step.name = stringHere(cursor);
  else if (key === 'content') step.content = cursor.at;
  else if (key === 'result') step.result = cursor.at;
  else if (key === 'arguments') step.args = cursor.value();
  else if (cursor.atString()) step.text = cursor.string();
}

function roleOf(type: string): Role {
  if (type === 'function_result') return 'tool';
  if (type === 'text') return 'user';
  return SPOKEN.get(type)?.role ?? (SERVER_CALL.test(type) ? 'assistant' : 'other');
}

/** Collects the texts of a step. Returns whether any part is ambiguous. */
function readTexts(cursor: JsonCursor, step: Step, texts: ScannedText[], budget: ScanBudget): boolean {
  if (step.type === 'text') {
    if (step.text !== null) texts.push({ literal: step.text, use: 'words', callId: '', name: '' });
    return false;
  }
  if (step.type === 'function_result') {
    const as = { use: 'result', callId: step.callId, name: step.name } as const;
    return readValue(cursor, step.result, as, texts, budget);
  }
  const spoken = SPOKEN.get(step.type);
  return (
    spoken !== undefined && readValue(cursor, step.content, { use: spoken.use, callId: '', name: '' }, texts, budget)
  );
}

/**
 * Collects the texts of the value at byte `at`: a string, a list of contents or, in a result, an object whose strings
 * are texts regardless of key (`output`, `result`, `error`).
 */
function readValue(
  cursor: JsonCursor,
  at: number,
  as: Omit<ScannedText, 'literal'>,
  texts: ScannedText[],
  budget: ScanBudget,
): boolean {
  if (at < 0) return false;
  cursor.at = at;
  let isAmbiguous = false;
  if (cursor.atString()) texts.push({ literal: cursor.string(), ...as });
  else if (cursor.atArray()) {
    cursor.array(() => {
      budget.piece();
      if (!cursor.atObject()) return;
      const { literal, repeated } = readTextPart(cursor);
      isAmbiguous ||= repeated;
      if (literal !== null) texts.push({ literal, ...as });
    });
  } else if (cursor.atObject() && as.use === 'result') {
    const seen = new Set<string>();
    cursor.object((key) => {
      budget.piece();
      isAmbiguous ||= seen.has(key);
      seen.add(key);
      if (cursor.atString()) texts.push({ literal: cursor.string(), ...as });
    });
  }
  return isAmbiguous;
}
