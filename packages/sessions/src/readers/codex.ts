import type { Reading } from '@mcp-pruner/money/limits/attribution.ts';
import { limitsInRollout } from '@mcp-pruner/money/limits/read-limits.ts';
import { textHash } from 'mcp-pruner/core/hash.ts';
import { field, parsed } from 'mcp-pruner/wires/json/value.ts';
import {
  numberOf,
  projectOf,
  type Session,
  type SessionReader,
  type SessionRequest,
  Thread,
  textOf,
} from './recorded.ts';

/** Item types written by the model. A request consists of the items before the first of these. */
const MADE = new Set(['reasoning', 'function_call', 'custom_tool_call', 'local_shell_call', 'web_search_call']);

/**
 * Reads a session of Codex (`~/.codex/sessions/YYYY/MM/DD/rollout-….jsonl`): lines of `{timestamp, type, payload}`;
 * items of the conversation are in `response_item`, the model in `turn_context`, the usage of a request in `event_msg`
 * of type `token_count`; `compacted` restarts the history.
 */
export class CodexSession implements SessionReader {
  readonly #thread = new Thread();
  readonly #requests: SessionRequest[] = [];
  /** Number of items in the newest request; -1 if there was none since the last bill. */
  #requestLength = -1;
  #model = '';
  #project = '';
  #billed = '';
  #id = '';
  /** The session whose lines a fork or a sub-agent repeats at its beginning; otherwise this one. */
  #root = '';
  /** Hash of the totals of all requests so far, which forks repeat. */
  #chain = '';
  readonly #limits: Reading[] = [];
  /** Start time of the current or newest request. */
  #startedMs = 0;

  line(text: string): void {
    const line = parsed(text); // `undefined` for the incomplete last line of a running session
    const payload = field(line, 'payload');
    const type = field(line, 'type');
    this.#root ||= textOf(field(line, 'timestamp'));
    if (type === 'session_meta' || type === 'turn_context') {
      this.#model = textOf(field(payload, 'model')) || this.#model;
      this.#project = projectOf(field(payload, 'cwd')) || this.#project;
      if (type === 'session_meta') this.#begin(payload);
    } else if (type === 'response_item') this.#item(payload, timeOf(line));
    else if (type === 'compacted') this.#compacted(payload);
    else if (type === 'event_msg' && field(payload, 'type') === 'token_count') {
      this.#limit(line, payload);
      this.#bill(line, payload);
    }
  }

  /** A fork's own line comes first, then those of the sessions that it repeats, the original last. */
  #begin(meta: unknown): void {
    const id = textOf(field(meta, 'id'));
    this.#id ||= id;
    const spawned = field(field(field(meta, 'source'), 'subagent'), 'thread_spawn');
    this.#root = textOf(field(meta, 'forked_from_id')) || textOf(field(spawned, 'parent_thread_id')) || id;
  }

  end(): Session {
    return { requests: this.#requests, offered: new Set(), limits: this.#limits, id: this.#id };
  }

  #item(item: unknown, atMs: number): void {
    const kind = textOf(field(item, 'type'));
    const made = MADE.has(kind) || field(item, 'role') === 'assistant';
    if (!made) this.#startedMs = atMs;
    if (made && this.#requestLength < 0) this.#requestLength = this.#thread.messages.length;
    // reasoning is long and contains no tool results
    if (kind !== 'reasoning') this.#thread.add(item, made);
  }

  #compacted(payload: unknown): void {
    const history = field(payload, 'replacement_history');
    const message = {
      type: 'message',
      role: 'user',
      content: [{ type: 'input_text', text: textOf(field(payload, 'message')) }],
    };
    this.#thread.restart();
    for (const item of Array.isArray(history) ? history : [message]) this.#thread.add(item, false);
    this.#requestLength = -1;
  }

  #limit(line: unknown, payload: unknown): void {
    const endedMs = timeOf(line);
    const {
      plan = null,
      provider = '',
      windows = [],
    } = limitsInRollout(field(payload, 'rate_limits'), endedMs / 1000) ?? {};
    const usage = field(field(payload, 'info'), 'last_token_usage');
    const read = numberOf(field(usage, 'cached_input_tokens'));
    const fresh = Math.max(0, numberOf(field(usage, 'input_tokens')) - read);
    const weight = 100 * fresh + 10 * read + 500 * numberOf(field(usage, 'output_tokens'));
    const about = { account: '', provider, plan, project: this.#project, session: this.#id, conversation: this.#id };
    const request = {
      request: '',
      keyId: '',
      model: this.#model,
      startedMs: this.#startedMs || endedMs,
      endedMs,
      weight,
    };
    for (const window of windows) this.#limits.push({ ...about, ...request, ...window });
  }

  /** Adds the last request with its usage. Rate-limit reports repeat the same usage, which is ignored. */
  #bill(line: unknown, payload: unknown): void {
    const info = field(payload, 'info');
    const total = JSON.stringify(field(info, 'total_token_usage') ?? null);
    const usage = field(info, 'last_token_usage');
    const input = numberOf(field(usage, 'input_tokens'));
    if (total === this.#billed || input === 0) return;
    this.#billed = total;
    this.#chain = textHash(`${this.#chain}\n${total}\n${JSON.stringify(usage)}`);
    const requestLength = this.#requestLength < 0 ? this.#thread.messages.length : this.#requestLength;
    this.#requestLength = -1;
    const length = this.#thread.fit(input, requestLength);
    this.#requests.push({
      key: `${this.#root}\n${this.#chain}`,
      thread: 'main',
      atMs: timeOf(line),
      wire: 'responses',
      model: this.#model,
      project: this.#project,
      history: this.#thread.messages,
      length,
      usage: {
        input,
        output: numberOf(field(usage, 'output_tokens')),
        read: numberOf(field(usage, 'cached_input_tokens')),
        written: null,
        written1h: null,
      },
      reasoning: numberOf(field(usage, 'reasoning_output_tokens')),
    });
  }
}

/** Time of a line in epoch milliseconds; 0 if unknown. */
function timeOf(line: unknown): number {
  return Date.parse(textOf(field(line, 'timestamp'))) || 0;
}
