import type { ScannedMessage } from 'mcp-pruner/wires/dialects/dialect.ts';
import {
  type ByteEdit,
  elementsOf,
  memberIn,
  membersOf,
  objectOf,
  valueIn,
  withEdits,
} from 'mcp-pruner/wires/json/edit.ts';
import { field, finiteNumber } from 'mcp-pruner/wires/json/value.ts';
import {
  type CompactionAnswer,
  type CompactionUsage,
  INSTRUCTIONS,
  MAX_OUTPUT_TOKENS,
  type SeamWire,
  USER,
} from './wire.ts';

/**
 * Anthropic's compaction on demand. Source: https://platform.claude.com/docs/en/build-with-claude/compaction-on-demand,
 * compaction-background, compaction-keep-recent-turns, compaction-thinking-blocks (read 2026-11-29).
 */
export const messagesWire: SeamWire = {
  beta: 'compact-2026-09-04',
  textType: 'text',
  takesLine: new Set(['user', 'tool']),

  // each of the user's messages has a result
  bringsOnlyResults(added) {
    if (!added.includes(RESULT)) return false;
    for (let at = added.indexOf(USER); at >= 0; ) {
      const next = added.indexOf(USER, at + 1);
      const result = added.indexOf(RESULT, at);
      if (result < 0 || (next >= 0 && result > next)) return false;
      at = next;
    }
    return true;
  },

  excluded(body, { messages, managesContext }) {
    if (managesContext === true && !keepsAll(valueIn(body, 'context_management'))) return 'client_manages_context';
    const keys = membersOf(body).map(({ key }) => key);
    if (keys.includes('compaction') || keys.includes('thread')) return 'client_compacts';
    if (field(field(valueIn(body, 'output_config'), 'task_budget'), 'remaining') !== undefined) return 'task_budget';
    if (messages.some(({ role }) => role === 'other')) return 'system_messages';
    return messages.some(({ span }) => BLOCKS.some((block) => body.subarray(span.start, span.end).includes(block)))
      ? 'own_block'
      : '';
  },

  request(body, { messages }, count, path) {
    const [first, last] = [messages[0], messages[count - 1]];
    if (first === undefined || last === undefined) throw new RangeError('no messages to summarise');
    const list = body.subarray(first.span.start, last.span.end);
    const isMarked = (bytes: Buffer): boolean => bytes.includes(CACHE_CONTROL);
    const rest = body.subarray(last.span.end, messages.at(-1)?.span.end);
    // the client's mark moved on with the seam: without one, nothing of the messages would be read from the cache
    const marked = isMarked(rest) && !isMarked(list) ? withMark(body, last, markIn(rest)) : null;
    const summarised = marked ? withEdits(list, [shifted(marked, first.span.start)]) : list;
    const members = membersOf(body).flatMap(({ key, span }): [string, Buffer | string][] => {
      const raw = body.subarray(span.start, span.end);
      if (key === 'messages') return [[key, Buffer.concat([OPEN, summarised, CLOSE])]];
      if (DROPPED.has(key)) return [];
      if (key === 'output_config') return [[key, withoutFormat(raw)]];
      return [[key, raw]];
    });
    const own: [string, string][] = [
      ['max_tokens', String(MAX_OUTPUT_TOKENS)],
      ['stream', 'true'],
      ['compaction', JSON.stringify({ type: 'summarize', instructions: INSTRUCTIONS })],
    ];
    return { path, body: objectOf([...members, ...own]) };
  },

  answer(answer, sent, isStream) {
    const model = String(valueIn(sent, 'model') ?? '');
    return isStream ? streamed(answer, model) : whole(answer, model);
  },

  kept: () => 0,
  carrying: (block) => `{"role":"assistant","content":[${block}]}`,

  withoutThinking(body, { messages }, isGone) {
    const edits = messages.flatMap((message, i) =>
      message.role === 'assistant' && isGone(i) ? thinkingEdits(body, message) : [],
    );
    return edits.length === 0 ? null : withEdits(body, edits);
  },

  pictures: (body, messages) =>
    messages.reduce((sum, { span }) => sum + occurrences(body.subarray(span.start, span.end), PICTURES), 0),
};

/** Whether the client only asks that no thinking be cleared, as Claude Code 2.1 does with every request. */
function keepsAll(management: unknown): boolean {
  const edits = field(management, 'edits');
  const isKeeping = (edit: unknown): boolean =>
    String(field(edit, 'type')).startsWith('clear_thinking_') && field(edit, 'keep') === 'all';
  return Array.isArray(edits) && edits.every(isKeeping);
}

const RESULT = '"tool_result"';
const OPEN = Buffer.from('[');
const CLOSE = Buffer.from(']');
const CACHE_CONTROL = '"cache_control"';
const BLOCKS = ['"type":"compaction"', '"type": "compaction"'];
const PICTURES = ['"type":"image"', '"type":"document"'];
/** Fields that a compaction request must not have, and those that are set anew. */
const DROPPED = new Set([
  'tool_choice',
  'stop_sequences',
  'context_management',
  'max_tokens',
  'stream',
  'compaction',
  'diagnostics',
]);

export function occurrences(bytes: Buffer, words: readonly string[]): number {
  let count = 0;
  for (const word of words)
    for (let at = bytes.indexOf(word); at >= 0; at = bytes.indexOf(word, at + word.length)) count++;
  return count;
}

function withoutFormat(raw: Buffer): Buffer {
  const members = membersOf(raw).filter(({ key }) => key !== 'format');
  return objectOf(members.map(({ key, span }) => [key, raw.subarray(span.start, span.end)]));
}

/** The client's breakpoint, such as `{"type":"ephemeral"}`. */
function markIn(bytes: Buffer): string {
  const text = bytes.toString('latin1');
  const at = text.lastIndexOf(CACHE_CONTROL);
  const value = /^"cache_control"\s*:\s*(\{[^{}]{0,200}\})/.exec(text.slice(at, at + 300))?.[1];
  return value ?? '{"type":"ephemeral"}';
}

/** Types of blocks on which a breakpoint may stand. */
const MARKABLE = new Set(['text', 'tool_use', 'tool_result', 'image', 'document']);

/** The edit that puts a breakpoint on the last block of a message; `null` if it cannot have one. */
function withMark(body: Buffer, { span }: ScannedMessage, mark: string): ByteEdit | null {
  const content = membersOf(body, span.start).findLast(({ key }) => key === 'content')?.span;
  if (content === undefined) return null;
  const raw = body.subarray(content.start, content.end);
  if (raw[0] === 0x22) {
    const text = `[{"type":"text","text":${raw.toString('utf8')},"cache_control":${mark}}]`;
    return { ...content, bytes: Buffer.from(text) };
  }
  const last = elementsOf(body, content.start).at(-1);
  if (last === undefined || !MARKABLE.has(String(valueIn(body, 'type', last.start)))) return null;
  return { start: last.end - 1, end: last.end - 1, bytes: Buffer.from(`,"cache_control":${mark}`) };
}

function shifted({ start, end, bytes }: ByteEdit, by: number): ByteEdit {
  return { start: start - by, end: end - by, bytes };
}

/** Edits that remove thinking blocks; none if nothing else would be left. */
function thinkingEdits(body: Buffer, { span }: ScannedMessage): ByteEdit[] {
  const content = membersOf(body, span.start).findLast(({ key }) => key === 'content')?.span;
  if (content === undefined || body[content.start] !== 0x5b) return [];
  const blocks = elementsOf(body, content.start);
  const isThinking = (at: number): boolean => THINKING.has(String(valueIn(body, 'type', at)));
  const others = blocks.filter(({ start }) => !isThinking(start));
  if (others.length === 0 || others.length === blocks.length) return [];
  const list = others.map(({ start, end }) => body.toString('utf8', start, end)).join(',');
  return [{ ...content, bytes: Buffer.from(`[${list}]`) }];
}

const THINKING = new Set(['thinking', 'redacted_thinking']);

/** Reads a streamed answer: the block arrives whole in one `content_block_start`. */
function streamed(answer: Buffer, model: string): CompactionAnswer {
  const blocks: Buffer[] = [];
  let [stop, named, isComplete]: [unknown, string, boolean] = ['', '', false];
  let usage: CompactionUsage | null = null;
  for (const line of answer.toString('utf8').split(/\r?\n/)) {
    if (!line.startsWith('data:')) continue;
    const data = Buffer.from(line.slice('data:'.length).trim());
    const event = parsedOr(data);
    if (event === null) return { cause: 'not_understood', usage };
    const type = field(event, 'type');
    if (type === 'error') return { cause: 'error_in_answer', usage };
    if (type === 'message_start') named = String(field(field(event, 'message'), 'model') ?? '');
    usage = usageIn(field(event, 'usage') ?? field(field(event, 'message'), 'usage')) ?? usage;
    if (type === 'content_block_start') {
      const block = memberIn(data, 'content_block');
      if (block !== null) blocks.push(block);
    }
    if (type === 'message_delta') stop = field(field(event, 'delta'), 'stop_reason') ?? stop;
    isComplete ||= type === 'message_stop';
  }
  return judged({ blocks, stop, named, isComplete }, model, usage);
}

function whole(answer: Buffer, model: string): CompactionAnswer {
  const message = parsedOr(answer);
  if (message === null) return { cause: 'not_understood', usage: null };
  const content = memberIn(answer, 'content');
  const blocks =
    content === null || content[0] !== 0x5b
      ? []
      : elementsOf(content).map(({ start, end }) => content.subarray(start, end));
  const named = String(field(message, 'model') ?? '');
  return judged(
    { blocks, stop: field(message, 'stop_reason'), named, isComplete: true },
    model,
    usageIn(field(message, 'usage')),
  );
}

function judged(
  {
    blocks,
    stop,
    named,
    isComplete,
  }: {
    readonly blocks: readonly Buffer[];
    readonly stop: unknown;
    readonly named: string;
    readonly isComplete: boolean;
  },
  model: string,
  usage: CompactionUsage | null,
): CompactionAnswer {
  const failed = (cause: string): CompactionAnswer => ({ cause, usage });
  if (!isComplete) return failed('cut_off');
  if (named !== '' && !named.startsWith(model) && !model.startsWith(named)) return failed('other_model');
  if (stop !== 'compaction') return failed(`stop_${String(stop || 'unknown').slice(0, 40)}`);
  const [block] = blocks;
  if (block === undefined || blocks.length !== 1) return failed(blocks.length === 0 ? 'no_block' : 'several_blocks');
  const { type, content, signature } = JSON.parse(block.toString('utf8')) as Record<string, unknown>;
  const isGood = type === 'compaction' && isText(content) && isText(signature);
  return isGood ? { block: block.toString('utf8'), usage } : failed('empty_block');
}

function isText(value: unknown): boolean {
  return typeof value === 'string' && value.trim() !== '';
}

export function parsedOr(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8')) as unknown;
  } catch {
    return null;
  }
}

/** The top level counts nothing: a compaction's tokens are in `iterations`. */
function usageIn(usage: unknown): CompactionUsage | null {
  const iterations = field(usage, 'iterations');
  if (!Array.isArray(iterations) || iterations.length === 0) return null;
  const sum = (name: string): number =>
    iterations.reduce((all: number, one) => all + (finiteNumber(field(one, name)) ?? 0), 0);
  const long = iterations.reduce(
    (all: number, one) => all + (finiteNumber(field(field(one, 'cache_creation'), 'ephemeral_1h_input_tokens')) ?? 0),
    0,
  );
  const [read, written] = [sum('cache_read_input_tokens'), sum('cache_creation_input_tokens')];
  return {
    input: sum('input_tokens'),
    read,
    written,
    written1h: Math.min(long, written),
    output: sum('output_tokens'),
  };
}
