import { prefixesOf } from '../../core/request/prefix-memo.ts';
import type { RewrittenRequest } from '../../core/request/rewritten.ts';
import type { Dialect } from '../../wires/dialects/dialect.ts';
import { JsonShapeError } from '../../wires/json/cursor.ts';
import { elementsOf, memberIn, membersOf, objectOf } from '../../wires/json/edit.ts';

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
  const input = `[${[first, next].flatMap(itemsOf).join(',')}]`;
  const kept = membersOf(next).filter(({ key }) => key !== 'previous_response_id');
  return objectOf(
    kept.map(({ key, span: { start, end } }) => [key, key === 'input' ? input : next.subarray(start, end)]),
  );
}

/** The elements of a frame's list, as they are. @throws JsonShapeError */
function itemsOf(frame: Buffer): string[] {
  const input = memberIn(frame, 'input');
  if (input === null) throw new JsonShapeError('no list of input');
  return elementsOf(input).map(({ start, end }) => input.toString('utf8', start, end));
}
