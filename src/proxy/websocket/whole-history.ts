import { prefixesOf } from '../../core/request/prefix-memo.ts';
import type { RewrittenRequest } from '../../core/request/rewritten.ts';
import type { Dialect } from '../../wires/dialects/dialect.ts';
import { JsonCursor, JsonShapeError, type Span } from '../../wires/json/cursor.ts';

/** An answered frame without any answer of the model in it or to it. */
export interface Beginning {
  /** Id of the answer. */
  readonly id: string;
  readonly received: Buffer;
  readonly sent: Buffer;
}

/**
 * A frame as the request with the whole history that it stands for; `null` if it has only new messages. Codex 0.171 first
 * sends the instructions with `generate: false`, and then, with the id of that answer, everything else.
 *
 * @param changed - the frame as it would be sent, if it differs
 * @throws JsonShapeError
 */
export function wholeOf(
  frame: Buffer,
  rewritten: RewrittenRequest,
  changed: Buffer | null,
  beginning: Beginning | null,
  dialect: Pick<Dialect, 'scan'>,
): { readonly body: Buffer; readonly rewritten: RewrittenRequest } | null {
  if (!rewritten.messages.some(({ role }) => role === 'assistant')) return null; // every summary stands for an answer
  if (rewritten.previous === '') return { body: changed ?? frame, rewritten };
  if (rewritten.previous !== beginning?.id) return null;
  const received = joined(beginning.received, frame);
  const { messages } = dialect.scan(received);
  const body = joined(beginning.sent, changed ?? frame);
  return { body, rewritten: { ...rewritten, received, messages, prefixes: prefixesOf(received, messages) } };
}

/** A frame with the messages of an earlier one before its own, which continues nothing. */
function joined(first: Buffer, next: Buffer): Buffer {
  const members = membersOf(next);
  const lists = [contentOf(first, membersOf(first).get('input')), contentOf(next, members.get('input'))];
  const input = [OPEN, ...separated(lists.filter(({ length }) => length > 0)), CLOSE];
  members.delete('previous_response_id');
  const fields = Array.from(members, ([key, { start, end }]) =>
    Buffer.concat([Buffer.from(`${JSON.stringify(key)}:`), ...(key === 'input' ? input : [next.subarray(start, end)])]),
  );
  return Buffer.concat([Buffer.from('{'), ...separated(fields), Buffer.from('}')]);
}

function separated(parts: readonly Buffer[]): Buffer[] {
  return parts.flatMap((part, i) => (i === 0 ? [part] : [COMMA, part]));
}

const [OPEN, CLOSE, COMMA] = ['[', ']', ','].map((text) => Buffer.from(text)) as [Buffer, Buffer, Buffer];

/** The bytes between the brackets of a list. */
function contentOf(frame: Buffer, list: Span | undefined): Buffer {
  if (list === undefined || frame[list.start] !== OPEN_BRACKET) throw new JsonShapeError('no list of input');
  return Buffer.from(frame.toString('utf8', list.start + 1, list.end - 1).trim());
}

function membersOf(frame: Buffer): Map<string, Span> {
  const cursor = new JsonCursor(frame);
  const members = new Map<string, Span>();
  cursor.object((key) => {
    members.set(key, cursor.value());
  });
  return members;
}

const OPEN_BRACKET = 0x5b;
