import type { ReportedUsage } from '../../core/ports/request-facts.ts';

/** A message (or item) of a conversation as it went over the wire. */
export interface SessionMessage {
  readonly json: string;
  /** The model made it. */
  readonly made: boolean;
}

/** The wire that the requests of a session are put together for. */
export type SessionWire = 'messages' | 'responses' | 'chat';

/** A request as an agent's session file lets it be put together again: its messages, and what it was billed for. */
export interface SessionRequest {
  /** The same for the same request in another file. */
  readonly key: string;
  /** Which conversation of the file it belongs to: agents keep those of their sub-agents beside their own. */
  readonly thread: string;
  readonly atMs: number;
  readonly wire: SessionWire;
  readonly model: string;
  /** Last part of the folder that the session ran in. */
  readonly project: string;
  /** Its messages are the first `length` of these; what the model answered follows them. */
  readonly history: readonly SessionMessage[];
  readonly length: number;
  readonly usage: ReportedUsage;
  /** Tokens of `usage.output` that the model thought; `null` where that is not said. */
  readonly reasoning: number | null;
  /** The usage is a share of what the file says of the whole session. */
  readonly shared?: true;
}

/** What a session file holds. */
export interface Session {
  /** In their order. */
  readonly requests: readonly SessionRequest[];
  /** Tools that were offered by name. */
  readonly offered: ReadonlySet<string>;
}

/** Puts the requests of one session file together, line by line. */
export interface SessionReader {
  /** Takes a line; one that is not understood is left out. */
  line(text: string): void;
  /** What the lines so far hold. */
  end(): Session;
}

/**
 * A conversation that grows. Its messages are never changed in place, so that requests can share them; where the history
 * begins anew it is another list.
 */
export class Thread {
  #messages: SessionMessage[] = [];

  get messages(): readonly SessionMessage[] {
    return this.#messages;
  }

  /** @param made - by the model */
  add(message: unknown, made: boolean): void {
    this.#messages.push({ json: JSON.stringify(message), made });
  }

  /** The history begins anew, with nothing or with what is left of it. */
  restart(messages: readonly SessionMessage[] = []): void {
    this.#messages = [...messages];
  }

  /** Leaves out what cannot have been in a request of so many tokens. @param length - messages of that request */
  fit(inputTokens: number, length = this.#messages.length): number {
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

/** Name of a project by its folder. */
export function projectOf(folder: unknown): string {
  return textOf(folder).split(/[\\/]/).filter(Boolean).at(-1) ?? '';
}

/** No tokeniser puts so many bytes into a token, on average over a request. */
const MOST_BYTES_PER_TOKEN = 8;
const SPARE_BYTES = 64 * 1024;
/** Images are in the file as text, and count by their size in pixels. */
const IMAGE = /"type":"(?:input_)?image(?:_url)?"/;
const IMAGE_BYTES = 8 * 1024;

/** Whether a message holds an image. */
export function hasImage({ json }: SessionMessage): boolean {
  return IMAGE.test(json);
}

/**
 * How many messages at the beginning cannot have been in a request of so many tokens: its history began anew without the file
 * saying so. Then half of what would have room goes as well, so that the next requests go on from this one.
 */
function lostBefore(messages: readonly SessionMessage[], inputTokens: number): number {
  const room = inputTokens * MOST_BYTES_PER_TOKEN + SPARE_BYTES;
  if (messages.reduce((sum, { json }) => sum + json.length, 0) <= room) return 0;
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
