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
  /** What an output token costs, in input tokens. */
  readonly outputPrice?: number;
}

/** What an output token costs in input tokens: eight of them with GPT models, five with all others. */
export function outputPriceOf(model: string): number {
  return /gpt|codex/i.test(model) ? 8 : 5;
}

/** One agent's form of recordings. */
export interface Form {
  readonly about: string;
  /** Whether a file of the repository is one. */
  readonly matches: (path: string) => boolean;
  /** What a file holds; `[]` where nothing can be read from it. */
  readonly read: (text: string, path: string) => Recording[];
}

/** A call of a tool as a message of the model's carries it. */
export function toolCall(id: string, name: string, args: unknown): Message {
  return { id, type: 'function', function: { name, arguments: JSON.stringify(args) } };
}
