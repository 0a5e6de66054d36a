import { linesOf } from '../../../base/file-lines.ts';
import { field, parsed } from '../../../wires/json/value.ts';
import type { RecordedMessage } from './messages.ts';
import type { RecordedRequest } from './replay.ts';

/** The message in a recorded answer. */
function answerOf(response: unknown): RecordedMessage | null {
  const message = field(field(field(response, 'choices'), '0'), 'message');
  return typeof field(message, 'role') === 'string' ? (message as RecordedMessage) : null;
}

/** Parses one line of a log: a request, or an object with `request` and optionally `response`. */
export function parseRecord(line: string): RecordedRequest {
  const value = parsed(line);
  const request = field(value, 'request');
  if (request === undefined) return { body: value };
  const response = field(value, 'response');
  const answer = answerOf(response);
  return { body: request, response, answer: answer ?? undefined };
}

/**
 * Reads a log line by line; empty lines are passed over.
 *
 * @throws the error of the file system when the file cannot be read
 */
export async function* readLog(path: string): AsyncGenerator<RecordedRequest> {
  for await (const line of linesOf(path, () => {}, Number.POSITIVE_INFINITY)) {
    if (line.trim() !== '') yield parseRecord(line);
  }
}
