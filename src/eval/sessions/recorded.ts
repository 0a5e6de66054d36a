import type { ReportedUsage } from '../../core/ports/ledger.ts';

/** A request as an agent's session file lets it be put together again: its messages, and what it was billed for. */
export interface SessionRequest {
  readonly atMs: number;
  readonly wire: 'messages' | 'responses';
  readonly model: string;
  /** Last part of the folder that the session ran in. */
  readonly project: string;
  /** Each message (or item) as JSON. */
  readonly messages: readonly string[];
  readonly usage: ReportedUsage;
}

/** Puts the requests of one session file together, line by line. */
export interface SessionReader {
  /** @returns the requests that the line completes; nothing for a line that is not understood */
  line(text: string): readonly SessionRequest[];
  /** What is complete once the file is over. */
  end(): readonly SessionRequest[];
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
/** Images stand in the file as text, and count by their size in pixels. */
const IMAGE = /"type":"(?:input_)?image"/;
const IMAGE_BYTES = 8 * 1024;

/**
 * How many messages at the beginning cannot have been in a request of so many tokens: its history began anew without the file
 * saying so. Then half of what would have room goes as well, so that the next requests go on from this one.
 */
export function lostBefore(messages: readonly string[], inputTokens: number): number {
  const room = inputTokens * MOST_BYTES_PER_TOKEN + SPARE_BYTES;
  const bytesOf = (message: string): number => (IMAGE.test(message) ? IMAGE_BYTES : message.length);
  if (messages.reduce((sum, { length }) => sum + length, 0) <= room) return 0;
  let bytes = messages.reduce((sum, message) => sum + bytesOf(message), 0);
  if (bytes <= room) return 0;
  let lost = 0;
  while (bytes > room / 2 && lost < messages.length - 1) bytes -= bytesOf(messages[lost++] ?? '');
  return lost;
}
