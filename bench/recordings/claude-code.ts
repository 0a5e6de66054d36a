import { type Form, type Message, timeOf, toolCall, type Usage } from './conversation.ts';
import { entriesOf, recordingsOf, Thread } from './entries.ts';

interface Block {
  readonly type: string;
  readonly text?: string;
  readonly id?: string;
  readonly name?: string;
  readonly input?: unknown;
  readonly tool_use_id?: string;
  readonly content?: string | readonly Block[];
}

interface RecordedUsage {
  readonly input_tokens?: number;
  readonly output_tokens?: number;
  readonly cache_read_input_tokens?: number;
  readonly cache_creation_input_tokens?: number;
  readonly cache_creation?: { readonly ephemeral_1h_input_tokens?: number };
}

interface Entry {
  readonly type: string;
  readonly subtype?: string;
  readonly isSidechain?: boolean;
  readonly sessionId?: string;
  readonly requestId?: string;
  readonly timestamp?: string;
  readonly message?: {
    readonly id?: string;
    readonly model?: string;
    readonly content?: string | readonly Block[];
    readonly usage?: RecordedUsage;
  };
}

/**
 * Sessions of Claude Code: one entry a line, a model's message in a line for each of its blocks. With parallel calls results
 * stand between those lines, so an answer is known by its message's and its request's id. What comes after a compaction is a
 * conversation of its own; what sub-agents say inside of a session is left out.
 */
export const claudeCode: Form = {
  about: 'sessions of Claude Code (*.jsonl with entries of user and assistant)',
  matches: (path) => path.endsWith('.jsonl'),
  read: (text) => {
    const entries = entriesOf<Entry>(text);
    const session = entries.find(({ sessionId }) => sessionId !== undefined)?.sessionId;
    if (session === undefined) return [];
    const threads = [new Thread()];
    /** Where the answers of the newest part stand, by their ids. */
    let answers = new Map<string, number>();
    for (const entry of entries) {
      if (entry.subtype === 'compact_boundary') {
        threads.push(new Thread());
        answers = new Map();
      }
      const thread = threads.at(-1) ?? new Thread();
      if (entry.isSidechain === true || entry.message?.content === undefined) continue;
      if (entry.type === 'assistant') addAnswer(thread, answers, entry);
      else if (entry.type === 'user') addHeard(thread, blocksOf(entry.message.content), timeOf(entry.timestamp));
    }
    return recordingsOf(threads, { agent: 'Claude Code', session, outputPrice: 5 });
  },
};

function addAnswer(thread: Thread, answers: Map<string, number>, { message, requestId = '', timestamp }: Entry): void {
  const timeMs = timeOf(timestamp);
  const said = saidIn(blocksOf(message?.content ?? []));
  const id = message?.id ?? '';
  const key = `${id} ${requestId}`;
  const known = id === '' ? undefined : answers.get(key);
  if (known === undefined && said.content === '' && said.tool_calls === undefined) return;
  if (known !== undefined) thread.extend(known, said, timeMs);
  const at = known ?? thread.answer(said, timeMs);
  answers.set(key, at);
  if (message?.usage !== undefined)
    thread.bill({ ...usageOf(at, message.usage), ...(message.model && { model: message.model }) });
}

function usageOf(at: number, usage: RecordedUsage): Usage {
  return {
    at,
    fresh: usage.input_tokens ?? 0,
    read: usage.cache_read_input_tokens ?? 0,
    written: usage.cache_creation_input_tokens ?? 0,
    written1h: usage.cache_creation?.ephemeral_1h_input_tokens ?? 0,
    output: usage.output_tokens ?? 0,
  };
}

function blocksOf(content: string | readonly Block[]): readonly Block[] {
  return typeof content === 'string' ? [{ type: 'text', text: content }] : content;
}

function saidIn(blocks: readonly Block[]): Message {
  const calls = blocks.flatMap((block) =>
    block.type === 'tool_use' ? [toolCall(block.id ?? '', block.name ?? '', block.input)] : [],
  );
  return { role: 'assistant', content: textIn(blocks), ...(calls.length > 0 && { tool_calls: calls }) };
}

/** The results in a user's message, each a message of its own, and then the words. */
function addHeard(thread: Thread, blocks: readonly Block[], timeMs: number): void {
  for (const block of blocks) {
    if (block.type !== 'tool_result') continue;
    const content = typeof block.content === 'string' ? block.content : textIn(block.content ?? []);
    thread.result(block.tool_use_id ?? '', content, timeMs);
  }
  thread.words('user', textIn(blocks), timeMs);
}

function textIn(blocks: readonly Block[]): string {
  return blocks.flatMap((block) => (block.type === 'text' ? (block.text ?? '') : [])).join('\n');
}
