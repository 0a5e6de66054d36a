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

/** A field of an object; `undefined` of anything else. */
export function field(value: unknown, name: string): unknown {
  return value !== null && typeof value === 'object' ? (value as Readonly<Record<string, unknown>>)[name] : undefined;
}

export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

export function numberOf(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) && value > 0 ? value : 0;
}

/** The value of a line, or `null` where it is no JSON: files are read while they are written. */
export function parsedLine(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return null; // the last line of a session that goes on
  }
}

/** Name of a project by its folder. */
export function projectOf(folder: unknown): string {
  return textOf(folder).split(/[\\/]/).filter(Boolean).at(-1) ?? '';
}
