import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import type { RecordedMessage } from './messages.ts';
import type { RecordedRequest } from './replay.ts';

function field(value: unknown, name: string | number): unknown {
  return value !== null && typeof value === 'object'
    ? (value as Readonly<Record<string | number, unknown>>)[name]
    : undefined;
}

/** The message that a recorded answer holds. */
function answerOf(response: unknown): RecordedMessage | null {
  const message = field(field(field(response, 'choices'), 0), 'message');
  return typeof field(message, 'role') === 'string' ? (message as RecordedMessage) : null;
}

/** What one line of a log holds: a request itself, or an object with `request` and perhaps `response`. */
export function parseRecord(line: string): RecordedRequest {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return { body: null };
  }
  const request = field(value, 'request');
  if (request === undefined) return { body: value };
  const response = field(value, 'response');
  const answer = answerOf(response);
  return { body: request, ...(response !== undefined && { response }), ...(answer && { answer }) };
}

/**
 * Reads a log line by line; empty lines are passed over.
 *
 * @throws the error of the file system when the file cannot be read
 */
export async function* readLog(path: string): AsyncGenerator<RecordedRequest> {
  const input = createReadStream(path, 'utf8');
  const opened = new Promise<never>((_, reject) => input.once('error', reject));
  opened.catch(() => {}); // waited for below; the lines end early when the file breaks off
  const lines = createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY });
  try {
    const iterator = lines[Symbol.asyncIterator]();
    for (;;) {
      const { value, done } = await Promise.race([iterator.next(), opened]);
      if (done) return;
      if (value.trim() !== '') yield parseRecord(value);
    }
  } finally {
    lines.close();
    input.destroy();
  }
}
