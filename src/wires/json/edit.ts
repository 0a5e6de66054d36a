import { JsonCursor, type Span } from './cursor.ts';

/** A replacement of bytes; edits are in order and do not overlap. */
export interface ByteEdit {
  readonly start: number;
  readonly end: number;
  readonly bytes: Buffer;
}

/** Applies edits, in any order. */
export function withEdits(body: Buffer, edits: readonly ByteEdit[]): Buffer {
  const pieces: Buffer[] = [];
  let at = 0;
  for (const { start, end, bytes } of edits.toSorted((a, b) => a.start - b.start)) {
    pieces.push(body.subarray(at, start), bytes);
    at = end;
  }
  return Buffer.concat([...pieces, body.subarray(at)]);
}

/** The members of a JSON object, in order. @throws JsonShapeError */
export function membersOf(bytes: Buffer, at = 0): { readonly key: string; readonly span: Span }[] {
  const members: { key: string; span: Span }[] = [];
  const cursor = new JsonCursor(bytes, at);
  cursor.object((key) => {
    members.push({ key, span: cursor.value() });
  });
  return members;
}

/** The elements of a JSON array. @throws JsonShapeError */
export function elementsOf(bytes: Buffer, at = 0): Span[] {
  const spans: Span[] = [];
  const cursor = new JsonCursor(bytes, at);
  cursor.array(() => {
    spans.push(cursor.value());
  });
  return spans;
}

/** The bytes of a member's value; `null` if there is none. @throws JsonShapeError */
export function memberIn(bytes: Buffer, name: string, at = 0): Buffer | null {
  const found = membersOf(bytes, at).findLast(({ key }) => key === name);
  return found ? bytes.subarray(found.span.start, found.span.end) : null;
}

/** Parses the value of a member; `undefined` if there is none. @throws JsonShapeError */
export function valueIn(bytes: Buffer, name: string, at = 0): unknown {
  const raw = memberIn(bytes, name, at);
  return raw === null ? undefined : (JSON.parse(raw.toString('utf8')) as unknown);
}

/** An object of raw values, in the given order. */
export function objectOf(members: readonly (readonly [key: string, raw: Buffer | string])[]): Buffer {
  const pieces = members.flatMap(([key, raw], i) => [
    Buffer.from(`${i === 0 ? '{' : ','}${JSON.stringify(key)}:`),
    typeof raw === 'string' ? Buffer.from(raw) : raw,
  ]);
  return Buffer.concat([...pieces, Buffer.from(members.length === 0 ? '{}' : '}')]);
}

/**
 * The edit that adds a text part behind the content of a message, which may be a string or a list of parts.
 *
 * @param type - type of text parts on the wire
 * @returns `null` if the message has no such content
 */
export function textBehind(body: Buffer, message: Span, type: string, text: string): ByteEdit | null {
  const content = membersOf(body, message.start).findLast(({ key }) => key === 'content')?.span;
  if (content === undefined) return null;
  const part = JSON.stringify({ type, text });
  const raw = body.subarray(content.start, content.end);
  if (raw[0] === QUOTE) {
    const own = `{"type":${JSON.stringify(type)},"text":${raw.toString('utf8')}}`;
    return { ...content, bytes: Buffer.from(`[${own},${part}]`) };
  }
  if (raw[0] !== BRACKET) return null;
  const isEmpty = elementsOf(body, content.start).length === 0;
  const at = content.end - 1;
  return { start: at, end: at, bytes: Buffer.from(isEmpty ? part : `,${part}`) };
}

const QUOTE = 0x22;
const BRACKET = 0x5b;
