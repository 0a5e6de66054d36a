/** A message in the shape of chat/completions. */
export type Message = Readonly<Record<string, unknown>>;

/** What one request was billed for, in tokens, as its provider reported it. */
export interface Usage {
  /** Index of the message that answers the request; what stands before it was its input. */
  readonly at: number;
  /** Input at the full price: neither read from a cache nor written to one. */
  readonly fresh: number;
  readonly read: number;
  /** Written to the cache, all of it. */
  readonly written: number;
  /** The part of `written` that is kept for an hour. */
  readonly written1h: number;
  readonly output: number;
  /** Absent: unknown. */
  readonly model?: string;
}

/** A recorded conversation: one line of a file of recordings. */
export interface Recording {
  /** Which agent it is of. */
  readonly agent: string;
  /** Tells it from all others of its repository. */
  readonly name: string;
  /** What it is held back with, where that is more than itself: all parts of a session. */
  readonly group?: string;
  readonly messages: readonly Message[];
  /** The requests that were made, in order; absent where the recording has no usage. */
  readonly usage?: readonly Usage[];
  /** The usage is estimated from the texts, because the agent records none. */
  readonly estimated?: boolean;
  /** When each message was complete, in epoch milliseconds, 0 where it is unknown; absent if no time is recorded. */
  readonly times?: readonly number[];
  /** What an output token costs, in input tokens. */
  readonly outputPrice?: number;
}

/** What an output token costs in input tokens: eight of them with GPT models, five with all others. */
export function outputPriceOf(model: string): number {
  return /gpt|codex/i.test(model) ? 8 : 5;
}

/** When a request arrived and when its answer was complete, in epoch milliseconds. */
export interface RequestTime {
  /** Index of the answer. */
  readonly at: number;
  readonly arrivedMs: number;
  readonly answeredMs: number;
}

/** The time of recordings without times. */
const UNKNOWN_MS = Date.UTC(2020, 0, 1);

/**
 * The times of a recording's requests, in order. A request arrives when the last message before it is complete; if only
 * answers have times, when its answer is. Without times all requests have the same, so that no cache expires.
 */
export function requestTimes({ messages, times = [] }: Pick<Recording, 'messages' | 'times'>): RequestTime[] {
  let [nowMs, heardMs] = [UNKNOWN_MS, 0];
  const requests: RequestTime[] = [];
  for (const [at, { role }] of messages.entries()) {
    const timeMs = times[at] ?? 0;
    if (role !== 'assistant') {
      heardMs = Math.max(heardMs, timeMs);
      continue;
    }
    const arrivedMs = Math.max(nowMs, heardMs || timeMs);
    nowMs = Math.max(arrivedMs, timeMs);
    heardMs = 0;
    requests.push({ at, arrivedMs, answeredMs: nowMs });
  }
  return requests;
}

/** A call of a tool as a message of the model's carries it. */
export function toolCall(id: string, name: string, args: unknown): Message {
  return { id, type: 'function', function: { name, arguments: JSON.stringify(args) } };
}
