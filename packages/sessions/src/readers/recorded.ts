import type { Reading } from '@mcp-pruner/money/limits/attribution.ts';
import type { ReportedUsage } from 'mcp-pruner/core/ports/request-facts.ts';

/** A message (or item) of a conversation, in wire form. */
export interface SessionMessage {
  readonly json: string;
  /** Whether the model wrote the message. */
  readonly made: boolean;
}

/** The wire for which the requests of a session are reconstructed. */
export type SessionWire = 'messages' | 'responses' | 'chat';

/** A request reconstructed from an agent's session file: its messages and its usage. */
export interface SessionRequest {
  /** Identifies the request across files. */
  readonly key: string;
  /** Id of the answer, if `key` also has a request id; `bare` if it has none. */
  readonly answer?: { readonly id: string; readonly bare: boolean } | undefined;
  /** Conversation within the file, because agents store conversations of sub-agents in the same file. */
  readonly thread: string;
  readonly atMs: number;
  readonly wire: SessionWire;
  readonly model: string;
  /** Last part of the session's working directory. */
  readonly project: string;
  /** The request consists of the first `length` messages, followed by the model's answer. */
  readonly history: readonly SessionMessage[];
  readonly length: number;
  readonly usage: ReportedUsage;
  /** Reasoning tokens in `usage.output`; `null` if not reported. */
  readonly reasoning: number | null;
  /** `usage` is a share of the figures for the whole session. */
  readonly shared?: true;
}

export interface Session {
  readonly requests: readonly SessionRequest[];
  /** Tools offered by name. */
  readonly offered: ReadonlySet<string>;
  /** The session id that the agent sends with its requests; absent if it sends none, or none is recorded. */
  readonly id?: string | undefined;
  /** States of subscription limits, in order; absent if the agent does not record them. */
  readonly limits?: readonly Reading[];
}

/** Reconstructs the requests of one session file, line by line. */
export interface SessionReader {
  /** Reads a line; unknown lines are ignored. */
  line(text: string): void;
  end(): Session;
}

/**
 * A growing conversation. Messages are only added, never changed, so that requests can share the list. A restarted
 * history uses a new list.
 */
export class Thread {
  #messages: SessionMessage[] = [];
  #chars = 0;

  get messages(): readonly SessionMessage[] {
    return this.#messages;
  }

  /** @param made - whether the model wrote it */
  add(message: unknown, made: boolean): void {
    const json = JSON.stringify(message);
    this.#messages.push({ json, made });
    this.#chars += json.length;
  }

  /** Starts a new history, empty or with the remaining messages. */
  restart(messages: readonly SessionMessage[] = []): void {
    this.#messages = [...messages];
    this.#chars = charsOf(messages);
  }

  /** Removes messages too many for a request of this size. @param length - number of messages in that request */
  fit(inputTokens: number, length = this.#messages.length): number {
    if (this.#chars <= roomOf(inputTokens)) return length;
    const lost = lostBefore(this.#messages.slice(0, length), inputTokens);
    if (lost > 0) this.restart(this.#messages.slice(lost));
    return length - lost;
  }
}

export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

export function numberOf(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : 0;
}

export function projectOf(folder: unknown): string {
  return textOf(folder).split(/[\\/]/).filter(Boolean).at(-1) ?? '';
}

/** Upper bound for a request's mean number of bytes per token. */
const MOST_BYTES_PER_TOKEN = 8;
const SPARE_BYTES = 64 * 1024;
/** Images are stored as text, but billed by their size in pixels. */
const IMAGE = /"type":"(?:input_)?image(?:_url)?"/;
const IMAGE_BYTES = 8 * 1024;

function roomOf(inputTokens: number): number {
  return inputTokens * MOST_BYTES_PER_TOKEN + SPARE_BYTES;
}

function charsOf(messages: readonly SessionMessage[]): number {
  return messages.reduce((sum, { json }) => sum + json.length, 0);
}

export function hasImage({ json }: SessionMessage): boolean {
  return IMAGE.test(json);
}

/**
 * Number of leading messages that cannot have been in a request of this size, because its history was restarted without
 * a record in the file. If there are any, more are removed until half of the possible size is left, so that the next
 * requests can continue from this one.
 */
function lostBefore(messages: readonly SessionMessage[], inputTokens: number): number {
  const room = roomOf(inputTokens);
  if (charsOf(messages) <= room) return 0;
  const bytesOf = (message: SessionMessage): number => (hasImage(message) ? IMAGE_BYTES : message.json.length);
  let bytes = messages.reduce((sum, message) => sum + bytesOf(message), 0);
  if (bytes <= room) return 0;
  let lost = 0;
  for (const message of messages.slice(0, -1)) {
    if (bytes <= room / 2) break;
    bytes -= bytesOf(message);
    lost++;
  }
  return lost;
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
