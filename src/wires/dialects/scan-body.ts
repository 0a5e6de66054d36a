import { isUtf8 } from 'node:buffer';
import { JsonCursor, JsonShapeError, type Span } from '../json/cursor.ts';
import type { RequestHead, Resume, ScannedBody, ScannedMessage } from './dialect.ts';

const COMMA = 0x2c;
const CLOSE_BRACKET = 0x5d;
const CLOSE_BRACE = 0x7d;

interface BodyShape {
  readonly list: string;
  /** Key of the id of an earlier stored answer, if the wire has one. */
  readonly previous?: string;
  /** Reads history facts from another field; absent if there are none. */
  readonly history?: (key: string, value: Buffer) => Partial<Omit<RequestHead, 'outside'>>;
  /** Reads the message at the cursor, which is an object. Other values are skipped and never changed. */
  readonly message: (cursor: JsonCursor, budget: ScanBudget) => ScannedMessage;
  /** Reads a non-list value under the list key. If absent, such a value is skipped. */
  readonly only?: (cursor: JsonCursor, budget: ScanBudget) => ScannedMessage | null;
}

/**
 * Walks the body of a request and reads its messages; all other fields are skipped.
 *
 * @throws JsonShapeError if the bytes are not one JSON object in UTF-8 with at most one list of messages
 */
export function scanBody(bytes: Buffer, shape: BodyShape, resume?: Resume): ScannedBody {
  if (!isUtf8(resume ? bytes.subarray(resume.at) : bytes)) throw new JsonShapeError('the body is not UTF-8');
  return new BodyScan(bytes, shape, resume).body();
}

class BodyScan {
  readonly #cursor: JsonCursor;
  readonly #shape: BodyShape;
  readonly #budget: ScanBudget;
  readonly #messages: ScannedMessage[];
  readonly #resumed: boolean;
  #head: RequestHead;
  /** The head as of the first message; `null` before. */
  #before: RequestHead | null;

  constructor(bytes: Buffer, shape: BodyShape, resume?: Resume) {
    this.#cursor = new JsonCursor(bytes, resume?.at ?? 0);
    this.#shape = shape;
    this.#messages = resume ? [...resume.messages] : [];
    this.#budget = new ScanBudget(this.#messages.length);
    this.#resumed = resume !== undefined;
    this.#head = resume?.before ?? {
      model: '',
      stream: false,
      previous: '',
      thread: false,
      reasoning: false,
      outside: [],
    };
    this.#before = resume?.before ?? null;
  }

  body(): ScannedBody {
    const cursor = this.#cursor;
    const field = (key: string): void => this.#field(key);
    if (this.#resumed) {
      while (cursor.take(COMMA)) this.#message();
      cursor.expect(CLOSE_BRACKET);
      while (cursor.take(COMMA)) cursor.member(field);
      cursor.expect(CLOSE_BRACE);
    } else cursor.object(field);
    if (cursor.peek() !== undefined) throw new JsonShapeError(`unexpected data after the body at byte ${cursor.at}`);
    return { messages: this.#messages, before: this.#before ?? this.#head, ...this.#head };
  }

  #field(key: string): void {
    const cursor = this.#cursor;
    const { list, previous, only, history } = this.#shape;
    if (key === 'model' && cursor.atString()) this.#head = { ...this.#head, model: stringHere(cursor) };
    else if (key === 'stream') this.#head = { ...this.#head, stream: isTrue(cursor) };
    else if (key === previous && cursor.atString()) this.#head = { ...this.#head, previous: stringHere(cursor) };
    else if (OUTSIDE.has(key)) this.#head = { ...this.#head, outside: [...this.#head.outside, cursor.value()] };
    else if (key === list) {
      if (this.#before) throw new JsonShapeError(`two lists of ${list}`);
      this.#before = this.#head;
      if (cursor.atArray()) cursor.array(() => this.#message());
      else this.#messages.push(...[only?.(cursor, this.#budget) ?? []].flat());
    } else if (history) {
      const { start, end } = cursor.value();
      this.#head = { ...this.#head, ...history(key, cursor.bytes.subarray(start, end)) };
    }
  }

  #message(): void {
    this.#budget.message();
    const cursor = this.#cursor;
    this.#messages.push(
      cursor.atObject()
        ? this.#shape.message(cursor, this.#budget)
        : { span: cursor.value(), role: 'other', texts: [], calls: [], opaque: true },
    );
  }
}

/** Fields outside the messages that determine which tools the model may call. */
const OUTSIDE = new Set([
  'tools',
  'functions',
  'toolConfig',
  'system',
  'instructions',
  'systemInstruction',
  'system_instruction',
]);

function isTrue({ bytes, at }: JsonCursor): boolean {
  return bytes.toString('latin1', at, at + 4) === 'true';
}

/** Relevant keys of an object, with a bit for each. */
export type Keys = ReadonlyMap<string, number>;

export function keysOf(...names: readonly string[]): Keys {
  return new Map(names.map((name, i) => [name, 1 << i]));
}

/**
 * Reads the relevant fields of the object at the cursor. `repeated`: a field occurs twice, and parsers disagree about
 * which one counts.
 */
export function readFields(
  cursor: JsonCursor,
  keys: Keys,
  onField: (key: string) => void,
): { readonly span: Span; readonly repeated: boolean } {
  let seen = 0;
  let repeated = false;
  const span = cursor.object((key) => {
    const bit = keys.get(key);
    if (bit === undefined) return;
    repeated ||= (seen & bit) !== 0;
    seen |= bit;
    onField(key);
  });
  return { span, repeated };
}

/**
 * Reads `{"type": "text", "text": "…"}`; the text may be under another key in `keys`. `literal` is `null` if it is not
 * a text.
 */
export function readTextPart(
  cursor: JsonCursor,
  keys: Keys = TEXT_PART,
): { readonly literal: Span | null; readonly repeated: boolean } {
  let type = '';
  let literal: Span | null = null;
  const { repeated } = readFields(cursor, keys, (key) => {
    if (key === 'type') type = stringHere(cursor);
    else literal = cursor.atString() ? cursor.string() : null;
  });
  return { literal: type === 'text' ? literal : null, repeated };
}

const TEXT_PART = keysOf('type', 'text');

/** Decodes the string at the cursor; `''` if there is none. */
export function stringHere(cursor: JsonCursor): string {
  return cursor.atString() ? (cursor.text(cursor.string()) ?? '') : '';
}

/**
 * Maximum number of messages in a body. With a context window of a million tokens and about fifty tokens per message,
 * no session comes near this number, while a body of 60 MB can contain thirty million messages.
 */
export const MAX_MESSAGES = 20_000;
/** Maximum number of texts and calls in all messages, since a message may contain several. */
const MAX_PIECES = 4 * MAX_MESSAGES;

/** Counts messages and parts during a scan, and aborts beyond the number that any real session sends. */
export class ScanBudget {
  #messages: number;
  #pieces = 0;

  /** @param messages - number of messages already known */
  constructor(messages = 0) {
    this.#messages = messages;
  }

  /** Counts a message. @throws JsonShapeError `too_many_messages` */
  message(): void {
    if (++this.#messages > MAX_MESSAGES) throw tooMany();
  }

  /** Counts a content part, a text or a call. @throws JsonShapeError `too_many_messages` */
  piece(): void {
    if (++this.#pieces > MAX_PIECES) throw tooMany();
  }
}

function tooMany(): JsonShapeError {
  return new JsonShapeError(`more than ${MAX_MESSAGES} messages or ${MAX_PIECES} parts`, { code: 'too_many_messages' });
}
