import { field, parsed } from 'mcp-pruner/wires/json/value.ts';
import { ChatThread } from './chat-thread.ts';
import { listOf, numberOf, type Session, type SessionReader, type SessionRequest, textOf } from './recorded.ts';

interface OpenStep {
  text: string;
  readonly calls: { readonly id: string; readonly name: string; readonly args: unknown }[];
  readonly results: { readonly id: string; readonly text: string }[];
}

interface KimiPlace {
  readonly session: string;
  /** The agent: `main`, or a sub-agent. */
  readonly agent: string;
  readonly project: string;
}

/**
 * Reads the journal of one agent of Kimi Code (`~/.kimi-code/sessions/<folder>/<session>/agents/<agent>/wire.jsonl`):
 * records `context.append_message` with users' words, `context.append_loop_event` with the parts, calls and results of a
 * step, and one `usage.record` per request. The usage in `step.end` repeats it.
 */
export class KimiSession implements SessionReader {
  readonly #place: KimiPlace;
  readonly #thread = new ChatThread();
  readonly #requests: SessionRequest[] = [];
  #step: OpenStep | null = null;

  constructor(place: KimiPlace) {
    this.#place = place;
  }

  line(text: string): void {
    const record = parsed(text);
    const type = field(record, 'type');
    if (type === 'usage.record') this.#bill(record);
    if (type === 'context.append_loop_event') this.#event(field(record, 'event'));
    if (type !== 'context.append_message') return;
    const message = field(record, 'message');
    if (field(message, 'role') !== 'user') return;
    this.#finish();
    this.#thread.user(wordsIn(field(message, 'content')));
  }

  end(): Session {
    this.#finish();
    return { requests: this.#requests, offered: new Set() };
  }

  #event(event: unknown): void {
    const type = field(event, 'type');
    if (type === 'step.begin') this.#finish();
    this.#step ??= { text: '', calls: [], results: [] };
    const step = this.#step;
    const id = textOf(field(event, 'toolCallId'));
    if (type === 'content.part') step.text += textOf(field(field(event, 'part'), 'text'));
    if (type === 'tool.call') step.calls.push({ id, name: textOf(field(event, 'name')), args: field(event, 'args') });
    if (type === 'tool.result') step.results.push({ id, text: wordsIn(field(field(event, 'result'), 'output')) });
  }

  #finish(): void {
    const step = this.#step;
    this.#step = null;
    if (step === null) return;
    this.#thread.assistant(step.text, step.calls);
    for (const { id, text } of step.results) this.#thread.result(id, text);
  }

  /** A request has the history before its step. */
  #bill(record: unknown): void {
    const usage = field(record, 'usage');
    const [read, written] = [numberOf(field(usage, 'inputCacheRead')), numberOf(field(usage, 'inputCacheCreation'))];
    const input = numberOf(field(usage, 'inputOther')) + read + written;
    if (input === 0) return;
    const { session, agent, project } = this.#place;
    this.#requests.push({
      key: `${session}\n${agent}\n${this.#requests.length}`,
      ...{ thread: agent, wire: 'chat', project, reasoning: null },
      atMs: numberOf(field(record, 'time')),
      // `kimi-code/k3` names the provider too
      model: textOf(field(record, 'model')).replace(/^kimi-code\//, ''),
      length: this.#thread.fit(input),
      history: this.#thread.messages,
      usage: { input, read, written, output: numberOf(field(usage, 'output')), written1h: 0 },
    });
  }
}

function wordsIn(content: unknown): string {
  if (typeof content === 'string') return content;
  return listOf(content)
    .map((part) => textOf(field(part, 'text')))
    .filter((words) => words !== '')
    .join('\n');
}
