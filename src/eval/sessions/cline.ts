import { field, parsed } from '../../json/value.ts';
import { numberOf, projectOf, type Session, type SessionRequest, Thread, textOf } from './recorded.ts';

/** The files of a task of Cline. */
export interface ClineTask {
  /** `api_conversation_history.json`: messages as on `/v1/messages`. */
  readonly history: string;
  /** `ui_messages.json`: what a request used, under `api_req_started`. */
  readonly shown: string;
  /** Name of the task. */
  readonly id: string;
}

/** Reads a task of Cline. Its requests stand in one file and what they used in another, both in their order. */
export function clineTask({ history, shown, id }: ClineTask): Session {
  const bills = listOf(parsed(shown)).flatMap((line) => billOf(line));
  const messages = listOf(parsed(history));
  const answers = messages.flatMap((message, i) => (field(message, 'role') === 'assistant' ? [i] : []));
  const thread = new Thread();
  const requests: SessionRequest[] = [];
  // requests that failed are billed without an answer: the newest ones belong together
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

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
