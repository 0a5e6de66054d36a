import { field, parsed } from 'mcp-pruner/wires/json/value.ts';
import { ChatThread } from './chat-thread.ts';
import { numberOf, projectOf, type Session, type SessionReader, type SessionRequest, textOf } from './recorded.ts';

type UnbilledRequest = Pick<SessionRequest, 'key' | 'atMs' | 'model' | 'project' | 'history' | 'length'> & {
  readonly output: number;
};

/**
 * Reads a session of Copilot CLI (`~/.copilot/session-state/<session>/events.jsonl`): lines of `{type, data,
 * timestamp}`. `session.shutdown` reports the usage of the whole session by model, which is divided among the requests
 * in proportion to their size.
 */
export class CopilotSession implements SessionReader {
  readonly #thread = new ChatThread();
  readonly #requests: SessionRequest[] = [];
  /** Requests since the last bill. */
  #unbilled: UnbilledRequest[] = [];
  #project = '';

  line(text: string): void {
    const line = parsed(text); // `undefined` for the incomplete last line of a running session
    const data = field(line, 'data');
    switch (field(line, 'type')) {
      case 'session.start':
        this.#project = projectOf(field(field(data, 'context'), 'cwd'));
        break;
      case 'user.message':
        this.#thread.user(textOf(field(data, 'transformedContent')) || textOf(field(data, 'content')));
        break;
      case 'assistant.message':
        this.#said(line, data);
        break;
      case 'tool.execution_complete':
        this.#thread.result(textOf(field(data, 'toolCallId')), textOf(field(field(data, 'result'), 'content')));
        break;
      case 'session.compaction_complete':
        this.#thread.restart();
        break;
      case 'session.shutdown':
        this.#bill(field(data, 'modelMetrics'));
    }
  }

  end(): Session {
    return { requests: this.#requests, offered: new Set() };
  }

  #said(line: unknown, data: unknown): void {
    const { messages: history } = this.#thread;
    const timestamp = textOf(field(line, 'timestamp'));
    this.#unbilled.push({
      key: `${textOf(field(data, 'messageId')) || timestamp}\n${textOf(field(data, 'apiCallId'))}`,
      atMs: Date.parse(timestamp) || 0,
      model: textOf(field(data, 'model')),
      ...{ project: this.#project, history, length: history.length },
      output: numberOf(field(data, 'outputTokens')),
    });
    const calls = field(data, 'toolRequests');
    this.#thread.assistant(
      textOf(field(data, 'content')),
      (Array.isArray(calls) ? calls : []).map((call) => ({
        id: textOf(field(call, 'toolCallId')),
        name: textOf(field(call, 'name')),
        args: field(call, 'arguments'),
      })),
    );
  }

  #bill(metrics: unknown): void {
    for (const [model, metric] of Object.entries(typeof metrics === 'object' ? (metrics ?? {}) : {})) {
      const usage = field(metric, 'usage');
      const own = this.#unbilled.filter((one) => one.model === model || one.model === '');
      const sizes = own.map(({ history, length }) => 1 + bytesOf(history.slice(0, length)));
      const all = sizes.reduce((sum, size) => sum + size, 0);
      for (const [i, { output, ...request }] of own.entries()) {
        const share = (sizes[i] ?? 0) / all;
        const part = (name: string): number => numberOf(field(usage, name)) * share;
        const input = part('inputTokens');
        if (input === 0) continue;
        const [read, written] = [part('cacheReadTokens'), part('cacheWriteTokens')];
        this.#requests.push({
          ...{ ...request, model, thread: 'main', wire: 'chat', reasoning: null, shared: true },
          usage: { input, output: output > 0 ? output : part('outputTokens'), read, written, written1h: 0 },
        });
      }
    }
    this.#unbilled = [];
  }
}

function bytesOf(messages: readonly { readonly json: string }[]): number {
  return messages.reduce((sum, { json }) => sum + json.length, 0);
}
