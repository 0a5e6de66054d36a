import { estimateTokens } from '../../src/engine/text/tokens.ts';
import {
  type Form,
  outputPriceOf,
  type Recording,
  requestTimes,
  timeOf,
  toolCall,
  type Usage,
} from './conversation.ts';
import { entriesOf, recordingsOf, Thread } from './entries.ts';

interface Entry {
  readonly type: string;
  readonly timestamp?: string;
  readonly data?: {
    readonly sessionId?: string;
    readonly content?: string;
    readonly model?: string;
    readonly outputTokens?: number;
    readonly toolRequests?: readonly {
      readonly toolCallId?: string;
      readonly name?: string;
      readonly arguments?: unknown;
    }[];
    readonly toolCallId?: string;
    readonly result?: { readonly content?: string };
    readonly error?: { readonly message?: string };
  };
}

/** Definitions of Copilot's tools; sessions that are closed in order record so many tokens of them. */
const TOOL_TOKENS = 4_400;

/**
 * Sessions of Copilot CLI: events of `user.message`, `assistant.message` and `tool.execution_complete`. They record output
 * tokens only, so input is estimated from the texts, with a cache that fails only
 * after a pause.
 */
export const copilot: Form = {
  about: 'sessions of Copilot CLI (*.jsonl that begin with session.start)',
  matches: (path) => path.endsWith('.jsonl'),
  read: (text) => {
    if (!text.startsWith('{"type":"session.start"')) return [];
    const thread = new Thread();
    const outputs = new Map<number, number>();
    let session = '';
    let model = '';
    let head = TOOL_TOKENS;
    for (const { type, timestamp, data = {} } of entriesOf<Entry>(text)) {
      const timeMs = timeOf(timestamp);
      const { content = '' } = data;
      if (type === 'session.start') session = data.sessionId ?? '';
      else if (type === 'system.message' && head === TOOL_TOKENS) head += estimateTokens(content);
      else if (type === 'user.message') thread.words('user', content, timeMs);
      else if (type === 'assistant.message') {
        const calls = (data.toolRequests ?? []).map(({ toolCallId = '', name = '', arguments: args }) =>
          toolCall(toolCallId, name, args),
        );
        const said = { role: 'assistant', content, ...(calls.length > 0 && { tool_calls: calls }) };
        const at = thread.answer(said, timeMs);
        outputs.set(at, data.outputTokens ?? 0);
        model = data.model ?? model;
      } else if (type === 'tool.execution_complete') {
        thread.result(data.toolCallId ?? '', data.result?.content ?? data.error?.message ?? '', timeMs);
      }
    }
    for (const usage of estimated(thread, head, outputs, !/gpt/i.test(model))) thread.bill(usage);
    return recordingsOf([thread], { agent: 'Copilot CLI', session, outputPrice: outputPriceOf(model) }).map(
      (recording): Recording => ({ ...recording, estimated: true }),
    );
  },
};

/** The cache is taken to be gone after so long. */
const LIFETIME_MS = 30 * 60_000;

/** One request for each answer: what the one before held is read from the cache unless it has expired, the rest is new. */
function estimated(thread: Thread, head: number, outputs: ReadonlyMap<number, number>, writes: boolean): Usage[] {
  const { messages } = thread;
  const times = new Map(requestTimes(thread).map((time) => [time.at, time]));
  const usage: Usage[] = [];
  let [read, answeredMs] = [0, 0];
  let input = head;
  for (const [at, message] of messages.entries()) {
    const output = outputs.get(at);
    if (output !== undefined) {
      const time = times.get(at);
      if (answeredMs > 0 && (time?.arrivedMs ?? 0) - answeredMs > LIFETIME_MS) read = 0;
      answeredMs = time?.answeredMs ?? 0;
      const rest = input - read;
      usage.push({ at, fresh: writes ? 0 : rest, read, written: writes ? rest : 0, written1h: 0, output });
      read = input;
    }
    input += estimateTokens(String(message.content ?? '')) + estimateTokens(JSON.stringify(message.tool_calls ?? ''));
  }
  return usage;
}
