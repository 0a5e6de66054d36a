import { field, parsed } from 'mcp-pruner/wires/json/value.ts';
import { listOf, numberOf, projectOf, type Session, type SessionRequest, Thread, textOf } from './recorded.ts';

interface ClineTask {
  /** `api_conversation_history.json`: messages as on `/v1/messages`. */
  readonly history: string;
  /** `ui_messages.json`: usage of each request, in `api_req_started`. */
  readonly shown: string;
  readonly id: string;
}

/** Reads a Cline task. Requests and usage are in separate files, both in order. */
export function clineTask({ history, shown, id }: ClineTask): Session {
  const bills = listOf(parsed(shown)).flatMap((line) => billOf(line));
  const messages = listOf(parsed(history));
  const answers = messages.flatMap((message, i) => (field(message, 'role') === 'assistant' ? [i] : []));
  const thread = new Thread();
  const requests: SessionRequest[] = [];
  // failed requests are billed but have no answer, so bills and answers are matched from the newest backwards
  const from = bills.length - answers.length;
  for (const [i, bill] of bills.entries()) {
    const answer = answers[i - from] ?? 0;
    for (const message of messages.slice(thread.messages.length, Math.max(thread.messages.length, answer))) {
      const { role, content } = { role: textOf(field(message, 'role')), content: field(message, 'content') };
      thread.add({ role, content }, role === 'assistant');
    }
    const { atMs, model, usage, project } = bill;
    requests.push({
      key: `${id}\n${atMs}`,
      ...{ thread: 'main', wire: 'messages', atMs, model, project, usage, reasoning: null },
      ...{ history: thread.messages, length: thread.messages.length },
    });
  }
  return { requests, offered: new Set() };
}

interface ClineCliSession {
  /** `<id>.messages.json`: messages nearly as on `/v1/messages`, each answer with its `metrics`. */
  readonly history: string;
  /** `<id>.json`: working directory of the session. */
  readonly about: string;
  readonly id: string;
}

/** Reads a Cline CLI 3 session, which records the usage with each answer. */
export function clineCliSession({ history, about, id }: ClineCliSession): Session {
  const project = projectOf(field(parsed(about), 'workspace_root'));
  const thread = new Thread();
  const requests: SessionRequest[] = [];
  for (const message of listOf(field(parsed(history), 'messages'))) {
    const role = textOf(field(message, 'role'));
    const usage = usageOf(field(message, 'metrics'));
    if (usage.input > 0) {
      const length = thread.fit(usage.input);
      requests.push({
        key: `${id}\n${textOf(field(message, 'id'))}`,
        ...{ thread: 'main', wire: 'messages', project, usage, reasoning: null, history: thread.messages, length },
        atMs: numberOf(field(message, 'ts')),
        model: textOf(field(field(message, 'modelInfo'), 'id')),
      });
    }
    const content = field(message, 'content');
    thread.add({ role, content: listOf(content).map(sentBlock) }, role === 'assistant');
  }
  return { requests, offered: new Set() };
}

/** `inputTokens` includes cached tokens if the provider counts that way, as on chat/completions. */
function usageOf(metrics: unknown): SessionRequest['usage'] & { readonly input: number } {
  const of = (name: string): number => numberOf(field(metrics, name));
  const [input, read, written] = [of('inputTokens'), of('cacheReadTokens'), of('cacheWriteTokens')];
  const all = input >= read + written ? input : input + read + written;
  return { input: all, output: of('outputTokens'), read, written, written1h: 0 };
}

/** Cline sends a list of outputs (one per command or file) as JSON. */
function sentBlock(block: unknown): unknown {
  const content = field(block, 'content');
  if (field(block, 'type') !== 'tool_result' || !Array.isArray(content)) return block;
  const isBlocks = content.every((part) => field(part, 'type') !== undefined);
  return {
    type: 'tool_result',
    tool_use_id: field(block, 'tool_use_id'),
    content: isBlocks ? content : JSON.stringify(content),
  };
}

function billOf(line: unknown) {
  if (field(line, 'say') !== 'api_req_started') return [];
  const request = parsed(textOf(field(line, 'text')));
  const [read, written] = [numberOf(field(request, 'cacheReads')), numberOf(field(request, 'cacheWrites'))];
  const input = numberOf(field(request, 'tokensIn')) + read + written;
  if (input === 0) return [];
  const folder = /Working Directory \(([^)\n]{1,500})\)/.exec(textOf(field(request, 'request')))?.[1] ?? '';
  return [
    {
      atMs: numberOf(field(line, 'ts')),
      model: textOf(field(field(line, 'modelInfo'), 'modelId')),
      project: projectOf(folder),
      usage: { input, output: numberOf(field(request, 'tokensOut')), read, written, written1h: 0 },
    },
  ];
}
