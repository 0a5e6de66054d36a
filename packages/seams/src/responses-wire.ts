import type { ScannedMessage } from 'mcp-pruner/wires/dialects/dialect.ts';
import { elementsOf, memberIn, membersOf, objectOf, valueIn, withEdits } from 'mcp-pruner/wires/json/edit.ts';
import { field, finiteNumber } from 'mcp-pruner/wires/json/value.ts';
import { occurrences, parsedOr } from './messages-wire.ts';
import { type CompactionAnswer, type CompactionUsage, type SeamWire, USER } from './wire.ts';

/**
 * OpenAI's compaction: `POST /responses/compact` with an API key; with a ChatGPT login, an ordinary request that ends in a
 * `compaction_trigger`, as Codex sends it. Sources: https://developers.openai.com/api/docs/guides/compaction and
 * context-management (read 2026-11-29); Codex 0.171. xAI documents the endpoint alike.
 */
export const responsesWire: SeamWire = {
  beta: '',
  textType: 'input_text',
  takesLine: new Set(['user']),

  // the types of all results end alike
  bringsOnlyResults: (added) => added.includes('_output"') && !added.includes(USER),

  excluded(body, { messages, previous }) {
    if (previous !== '') return 'stored_history';
    const members = membersOf(body);
    const raw = (name: string): string =>
      members
        .filter(({ key }) => key === name)
        .map(({ span }) => body.toString('latin1', span.start, span.end))
        .join();
    if (raw('store') === 'true') return 'stored_history';
    if (!['', 'null'].includes(raw('conversation'))) return 'stored_history';
    if (!['', 'null', '[]'].includes(raw('context_management'))) return 'client_manages_context';
    return messages.some(({ span }) => OWN.some((own) => body.subarray(span.start, span.end).includes(own)))
      ? 'own_block'
      : '';
  },

  request(body, { messages }, count, path, isLogin) {
    const [first, last] = [messages[0], messages[count - 1]];
    if (first === undefined || last === undefined) throw new RangeError('no items to summarise');
    const items = body.subarray(first.span.start, last.span.end);
    const members = membersOf(body);
    const raw = ({ key, span }: (typeof members)[number]): [string, Buffer] => [
      key,
      body.subarray(span.start, span.end),
    ];
    if (isLogin) {
      const list = Buffer.concat([Buffer.from('['), items, Buffer.from(`,${TRIGGER}]`)]);
      return { path, body: objectOf(members.map((one) => (one.key === 'input' ? ['input', list] : raw(one)))) };
    }
    const list = Buffer.concat([Buffer.from('['), items, Buffer.from(']')]);
    const own = members.filter(({ key }) => COMPACTED.has(key));
    const [at = '', query] = path.split('?', 2);
    return {
      path: `${at}/compact${query === undefined ? '' : `?${query}`}`,
      body: objectOf(own.map((one) => (one.key === 'input' ? ['input', list] : raw(one)))),
    };
  },

  answer(answer, sent, isStream, isLogin) {
    return isLogin ? triggered(answer, sent, isStream) : compacted(answer);
  },

  // instructions are items of their own here; the provider's window has none
  kept: (body, messages) => {
    const first = messages.findIndex((message) => !isInstruction(body, message));
    return first < 0 ? 0 : first;
  },
  carrying: (block) => block,

  withoutThinking(body, { messages }, isGone) {
    const reasoning = messages.filter((message, i) => isGone(i) && typeOf(body, message) === 'reasoning');
    if (reasoning.length === 0) return null;
    // the list never begins or ends with reasoning here: what was summarised stands before, the user's words behind
    return withEdits(
      body,
      reasoning.map(({ span }) => {
        const next = messages.find((message) => message.span.start > span.start);
        return { start: span.start, end: next?.span.start ?? span.end, bytes: Buffer.alloc(0) };
      }),
    );
  },

  pictures: (body, messages) =>
    messages.reduce((sum, { span }) => sum + occurrences(body.subarray(span.start, span.end), PICTURES), 0),
};

const TRIGGER = '{"type":"compaction_trigger"}';
const OWN = ['"type":"compaction"', '"type":"compaction_summary"', '"type":"compaction_trigger"'];
const PICTURES = ['"type":"input_image"', '"type":"input_file"'];
/** What the endpoint takes of a request. */
const COMPACTED = new Set(['model', 'input', 'instructions', 'prompt_cache_key']);
const INSTRUCTING = new Set(['developer', 'system']);
/** Like Codex: the newest messages of the user up to this length stay word for word, at four characters a token. */
const RETAINED_CHARS = 64_000 * 4;

function typeOf(body: Buffer, { span }: ScannedMessage): string {
  return body[span.start] === 0x7b ? String(valueIn(body, 'type', span.start) ?? '') : '';
}

function isInstruction(body: Buffer, message: ScannedMessage): boolean {
  if (body[message.span.start] !== 0x7b) return false;
  return (
    INSTRUCTING.has(String(valueIn(body, 'role', message.span.start))) || typeOf(body, message) === 'additional_tools'
  );
}

/** Reads the answer of the endpoint: retained messages of the user, and one compaction item. */
function compacted(answer: Buffer): CompactionAnswer {
  const value = parsedOr(answer);
  if (value === null) return { cause: 'not_understood', usage: null };
  const usage = usageIn(field(value, 'usage'));
  const failed = (cause: string): CompactionAnswer => ({ cause, usage });
  const output = memberIn(answer, 'output');
  if (output === null || output[0] !== 0x5b) return failed('no_block');
  const items = field(value, 'output') as unknown[];
  const blocks = items.filter((item) => isCompaction(item));
  if (blocks.length !== 1) return failed(blocks.length === 0 ? 'no_block' : 'several_blocks');
  if (!isGood(blocks[0])) return failed('empty_block');
  if (items.some((item) => !isCompaction(item) && field(item, 'role') !== 'user')) return failed('other_items');
  const block = elementsOf(output)
    .map(({ start, end }) => output.toString('utf8', start, end))
    .join(',');
  return { block, usage };
}

/** Reads the answer to a trigger: exactly one compaction item. The user's newest messages stay in front of it. */
function triggered(answer: Buffer, sent: Buffer, isStream: boolean): CompactionAnswer {
  const items: Buffer[] = [];
  let usage: CompactionUsage | null = null;
  let isComplete = false;
  const whole = (bytes: Buffer): void => {
    usage = usageIn(field(parsedOr(bytes), 'usage')) ?? usage;
    isComplete = true;
  };
  if (!isStream) {
    const output = memberIn(answer, 'output');
    for (const { start, end } of output?.[0] === 0x5b ? elementsOf(output) : [])
      items.push((output as Buffer).subarray(start, end));
    whole(answer);
  } else {
    for (const line of answer.toString('utf8').split(/\r?\n/)) {
      if (!line.startsWith('data:')) continue;
      const data = Buffer.from(line.slice('data:'.length).trim());
      const event = parsedOr(data);
      if (event === null) return { cause: 'not_understood', usage };
      const type = String(field(event, 'type'));
      if (['error', 'response.failed', 'response.incomplete'].includes(type))
        return { cause: 'error_in_answer', usage };
      const item = type === 'response.output_item.done' ? memberIn(data, 'item') : null;
      if (item !== null) items.push(item);
      const response = type === 'response.completed' ? memberIn(data, 'response') : null;
      if (response !== null) whole(response);
    }
  }
  if (!isComplete) return { cause: 'cut_off', usage };
  const blocks = items.filter((item) => isCompaction(parsedOr(item)));
  const [block] = blocks;
  if (block === undefined || blocks.length !== 1)
    return { cause: blocks.length === 0 ? 'no_block' : 'several_blocks', usage };
  if (!isGood(parsedOr(block))) return { cause: 'empty_block', usage };
  return { block: [...retained(sent), block.toString('utf8')].join(','), usage };
}

/** The newest messages of the user, as they were sent. */
function retained(sent: Buffer): string[] {
  const input = memberIn(sent, 'input');
  if (input === null) return [];
  const kept: string[] = [];
  let chars = 0;
  for (const { start, end } of elementsOf(input).reverse()) {
    const item = input.toString('utf8', start, end);
    if (field(parsedOr(Buffer.from(item)), 'role') !== 'user') continue;
    chars += item.length;
    if (chars > RETAINED_CHARS) break;
    kept.unshift(item);
  }
  return kept;
}

function isCompaction(item: unknown): boolean {
  return field(item, 'type') === 'compaction' || field(item, 'type') === 'compaction_summary';
}

function isGood(item: unknown): boolean {
  const content = field(item, 'encrypted_content');
  return typeof content === 'string' && content !== '';
}

function usageIn(usage: unknown): CompactionUsage | null {
  const input = finiteNumber(field(usage, 'input_tokens'));
  if (input === null) return null;
  const details = field(usage, 'input_tokens_details');
  const [read, written] = ['cached_tokens', 'cache_write_tokens'].map(
    (name) => finiteNumber(field(details, name)) ?? 0,
  );
  const output = finiteNumber(field(usage, 'output_tokens')) ?? 0;
  return {
    input: Math.max(0, input - (read ?? 0) - (written ?? 0)),
    read: read ?? 0,
    written: written ?? 0,
    written1h: 0,
    output,
  };
}
