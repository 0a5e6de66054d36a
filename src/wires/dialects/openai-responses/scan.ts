import type { JsonCursor, Span } from '../../json/cursor.ts';
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
import { keysOf, readFields, type ScanBudget, scanBody, stringHere } from '../scan-body.ts';

/**
 * Walks a body of the responses wire and finds its items without decoding their texts. Each item is reported as a
 * message. If `input` is a string, it is the only message, written by the user.
 *
 * @throws JsonShapeError when the bytes are not one JSON object with at most one `input`
 */
export function scanResponsesBody(bytes: Buffer, resume?: Resume): ScannedBody {
  const shape = { list: 'input', previous: 'previous_response_id', history, message: readItem, only: readOnly };
  return scanBody(bytes, shape, resume);
}

/** Whether the request asks for encrypted reasoning, or continues a stored conversation. */
function history(key: string, value: Buffer): Partial<RequestHead> {
  const isAsked = key === 'include' && value.includes('"reasoning.encrypted_content"');
  const isKept = key === 'conversation' && value.toString('latin1') !== 'null';
  return isAsked || isKept ? { reasoning: true } : {};
}

function readOnly(cursor: JsonCursor): ScannedMessage | null {
  if (!cursor.atString()) return null;
  const span = cursor.string();
  const text: ScannedText = { literal: span, use: 'words', callId: '', name: '' };
  // the message and its text share a span, which is safe because nothing is ever inserted after it
  return { span, role: 'user', texts: [text], calls: [], opaque: false };
}

/** How items of one type are read. Item types without a row in `KINDS` are never changed. */
interface ItemKind {
  readonly role: Role;
  readonly args?: string;
  /** Whether `output` is the result of a call. */
  readonly answers?: boolean;
}

const ANSWER: ItemKind = { role: 'tool', answers: true };
const SERVER_CALL: ItemKind = { role: 'assistant' };
const KINDS = new Map<string, ItemKind>([
  ['function_call', { role: 'assistant', args: 'arguments' }],
  ['custom_tool_call', { role: 'assistant', args: 'input' }],
  ['local_shell_call', { role: 'assistant', args: 'action' }],
  ['shell_call', { role: 'assistant', args: 'action' }],
  ['function_call_output', ANSWER],
  ['custom_tool_call_output', ANSWER],
  ['local_shell_call_output', ANSWER],
  ['shell_call_output', ANSWER],
  ['apply_patch_call', SERVER_CALL],
  ['mcp_call', SERVER_CALL],
  ['web_search_call', SERVER_CALL],
  ['file_search_call', SERVER_CALL],
  ['code_interpreter_call', SERVER_CALL],
  ['image_generation_call', SERVER_CALL],
  ['computer_call', SERVER_CALL],
]);
const UNKNOWN: ItemKind = { role: 'other' };
/** Item types that count as reasoning; a reference may refer to any type. */
const REASONING: ReadonlySet<string> = new Set(['reasoning', 'item_reference']);

const SPEAKERS = new Map<string, { readonly role: Role; readonly use: TextUse; readonly part: string }>([
  ['user', { role: 'user', use: 'words', part: 'input_text' }],
  ['assistant', { role: 'assistant', use: 'said', part: 'output_text' }],
]);

/** Relevant fields of an item; a duplicate key makes it opaque. */
interface Item {
  type: string;
  role: string;
  id: string;
  callId: string;
  name: string;
  namespace: string;
  content: number;
  output: number;
  readonly values: Map<string, Span>;
  opaque: boolean;
}

const ITEM_KEYS = keysOf(
  ...['type', 'role', 'id', 'call_id', 'name', 'namespace', 'content', 'output', 'arguments', 'input', 'action'],
);

function readItem(cursor: JsonCursor, budget: ScanBudget): ScannedMessage {
  const item: Item = {
    type: '',
    role: '',
    id: '',
    callId: '',
    name: '',
    namespace: '',
    content: -1,
    output: -1,
    values: new Map(),
    opaque: false,
  };
  const { span, repeated } = readFields(cursor, ITEM_KEYS, (key) => readField(cursor, key, item));
  item.opaque = repeated;
  const message = messageOf(cursor, span, item, budget);
  cursor.at = span.end;
  return message;
}

function readField(cursor: JsonCursor, key: string, item: Item): void {
  if (key === 'type') item.type = stringHere(cursor);
  else if (key === 'role') item.role = stringHere(cursor);
  else if (key === 'id') item.id = stringHere(cursor);
  else if (key === 'call_id') item.callId = stringHere(cursor);
  else if (key === 'name') item.name = stringHere(cursor);
  else if (key === 'namespace') item.namespace = stringHere(cursor);
  else if (key === 'content') item.content = cursor.at;
  else if (key === 'output') item.output = cursor.at;
  else item.values.set(key, cursor.value());
}

function messageOf(cursor: JsonCursor, span: Span, item: Item, budget: ScanBudget): ScannedMessage {
  // messages may omit their type
  const spoken = item.type === 'message' || item.type === '' ? SPEAKERS.get(item.role) : undefined;
  if (spoken) {
    const texts: ScannedText[] = [];
    const opaque = readTexts(
      cursor,
      item.content,
      spoken.part,
      { use: spoken.use, callId: '', name: '' },
      texts,
      budget,
    );
    return { span, role: spoken.role, texts, calls: [], opaque: item.opaque || opaque };
  }
  const kind = KINDS.get(item.type) ?? UNKNOWN;
  const texts: ScannedText[] = [];
  let opaque = item.opaque;
  if (kind.answers) {
    const answered = { use: 'result', callId: item.callId || item.id, name: '' } as const;
    opaque = readTexts(cursor, item.output, 'input_text', answered, texts, budget) || opaque;
  }
  const calls = callsOf(kind, item, budget);
  return { span, role: kind.role, texts, calls, opaque, ...(REASONING.has(item.type) && { reasoning: true }) };
}

/** Results refer to a call by call id; results of the local shell may use the item's id instead. */
function callsOf({ args }: ItemKind, item: Item, budget: ScanBudget): ScannedCall[] {
  if (args === undefined) return [];
  const name = item.namespace === '' ? item.name || item.type : `${item.namespace}__${item.name}`;
  const ids = new Set(item.type === 'local_shell_call' ? [item.callId, item.id] : [item.callId]);
  return [...ids].map((id) => {
    budget.piece();
    return { id, name, args: item.values.get(args) ?? null };
  });
}

/**
 * Collects the texts of the value at byte `at`: one string, parts of one type, or a shell's `stdout` and `stderr`.
 * Returns whether any part is ambiguous.
 */
function readTexts(
  cursor: JsonCursor,
  at: number,
  part: string,
  as: Omit<ScannedText, 'literal'>,
  texts: ScannedText[],
  budget: ScanBudget,
): boolean {
  if (at < 0) return false;
  cursor.at = at;
  if (cursor.atString()) texts.push({ literal: cursor.string(), ...as });
  if (!cursor.atArray()) return false;
  let opaque = false;
  cursor.array(() => {
    budget.piece();
    if (!cursor.atObject()) return;
    const { literals, ambiguous } = readPart(cursor, part, as.use === 'result');
    opaque ||= ambiguous;
    for (const literal of literals) texts.push({ literal, ...as });
  });
  return opaque;
}

/** @param shell - whether `stdout` and `stderr` are texts, too */
function readPart(cursor: JsonCursor, part: string, shell: boolean): { literals: Span[]; ambiguous: boolean } {
  const strings = new Map<string, Span>();
  let type: string | undefined;
  const { repeated } = readFields(cursor, shell ? RESULT_KEYS : PART_KEYS, (key) => {
    if (key === 'type') type = stringHere(cursor);
    else if (cursor.atString()) strings.set(key, cursor.string());
  });
  const names = type === part ? ['text'] : type === undefined && shell ? ['stdout', 'stderr'] : [];
  const literals = names.flatMap((name) => strings.get(name) ?? []).sort((a, b) => a.start - b.start);
  return { literals, ambiguous: repeated };
}

const PART_KEYS = keysOf('type', 'text');
const RESULT_KEYS = keysOf('type', 'text', 'stdout', 'stderr');
