import { endOfString, field, parsed } from '../../json/value.ts';
import type { Answer, AnswerError, AnswerItem, AnswerReader, AnswerStart } from '../dialect.ts';
import { EventStream } from '../event-stream.ts';
import { ERROR_EVENT, errorIn } from './answer-error.ts';
import { BoundedJson, type OnCut } from './bounded-json.ts';
import { AnswerCalls } from './calls.ts';
import type { AnswerFormat } from './format.ts';
import { ServerSentEvents } from './server-sent-events.ts';
import { UsageFigures, valueAt } from './usage-figures.ts';

/** Chunks are read together, because most answers arrive in thousands of small ones. */
const BATCH_BYTES = 16 * 1024;
const MAX_ITEMS = 256;

const LAST_BLANK = 0x20;
const OPEN_BRACE = 0x7b;
const OPEN_BRACKET = 0x5b;
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);
/** The first byte of a frame of AWS. Other answers do not contain it. */
const FRAME = 0;
/**
 * The frame of Bedrock that contains an event of the messages wire. Source:
 * https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_PayloadPart.html
 */
const ENCLOSING = 'chunk';
/** Fields by which an event may report usage, an error, a call or a change of the input. */
const SIGNS = 'usage|usageMetadata|name|input_transformations|error|type(?="\\s{0,4}:\\s{0,4}"error")';

/** Strings that contain the model's output in an answer that is not streamed. */
const WHOLE_TEXTS = ['content', 'text', 'reasoning_content', 'thinking', 'arguments'];
const WHOLE_PATTERN = patternOf(WHOLE_TEXTS);

/** The outer format of an answer: how its bytes contain events. */
interface Framing {
  data(bytes: Buffer): void;
  end(): void;
}

/**
 * Reads an answer of any wire in transit: server-sent events, JSON, frames of AWS, or messages of a WebSocket. It
 * decodes only events that may report something, and keeps at most 64 KB of one.
 */
export class FormatReader implements AnswerReader {
  readonly #format: AnswerFormat;
  readonly #pattern: RegExp;
  readonly #usage: UsageFigures;
  readonly #calls = new AnswerCalls();
  readonly #items: AnswerItem[] = [];
  #id = '';
  #error: AnswerError | null = null;
  #mismatches = 0;
  #textBytes = 0;
  #start: AnswerStart = 'unknown';
  #waiting: Buffer[] = [];
  #size = 0;
  #framing: Framing | null = null;

  constructor(format: AnswerFormat) {
    this.#format = format;
    this.#pattern = patternOf(format.texts);
    this.#usage = new UsageFigures(format);
  }

  data(chunk: Buffer): void {
    this.#waiting.push(chunk);
    this.#size += chunk.length;
    if (this.#size >= BATCH_BYTES) this.#read();
  }

  event(json: Buffer): void {
    this.#named('', json);
  }

  start(): AnswerStart {
    this.#read();
    return this.#start;
  }

  end(): Answer {
    this.#read();
    this.#framing?.end();
    return {
      usage: this.#usage.sum(),
      error: this.#error,
      turn: { id: this.#id, items: this.#items, calls: this.#calls.counts() },
      reports: { prefixMismatches: this.#mismatches },
      textBytes: this.#textBytes,
    };
  }

  /** Reads the waiting chunks. */
  #read(): void {
    if (this.#size === 0) return;
    const [only] = this.#waiting;
    const bytes = only && this.#waiting.length === 1 ? only : Buffer.concat(this.#waiting);
    this.#framing ??= this.#framingOf(bytes);
    const isMark = this.#framing === null && BYTE_ORDER_MARK.subarray(0, bytes.length).equals(bytes);
    this.#waiting = isMark ? [bytes] : [];
    this.#size = isMark ? bytes.length : 0;
    this.#framing?.data(startsWithMark(bytes) ? bytes.subarray(BYTE_ORDER_MARK.length) : bytes);
  }

  /** Servers send blanks before an answer to keep the connection open. Those do not show its form. */
  #framingOf(bytes: Buffer): Framing | null {
    if (bytes[0] === FRAME) return this.#frames();
    const from = startsWithMark(bytes) ? BYTE_ORDER_MARK.length : 0;
    const first = bytes.subarray(from).find((byte) => byte > LAST_BLANK);
    if (first === undefined || (from === 0 && BYTE_ORDER_MARK.subarray(0, bytes.length).equals(bytes))) return null;
    return first === OPEN_BRACE || first === OPEN_BRACKET ? this.#json() : this.#events();
  }

  #events(): Framing {
    return new ServerSentEvents((name, data) => this.#event(name, data), this.#countCut(this.#format.texts));
  }

  #json(): Framing {
    const json = new BoundedJson((text) => this.#body(text), this.#countCut(WHOLE_TEXTS));
    return { data: (bytes) => json.add(bytes), end: () => json.end() };
  }

  #frames(): Framing {
    const frames = new EventStream((type, payload) => {
      const enclosed = type === ENCLOSING ? field(parsed(payload.toString('utf8')), 'bytes') : undefined;
      if (typeof enclosed === 'string') this.event(Buffer.from(enclosed, 'base64'));
      else this.#named(type, payload);
    });
    return { data: (bytes) => frames.data(bytes), end: () => {} };
  }

  /** An event that arrives in one piece. */
  #named(type: string, data: Buffer): void {
    const json = new BoundedJson((text) => this.#event(type, text), this.#countCut(this.#format.texts));
    json.add(data);
    json.end();
  }

  /** @param data - its bytes as Latin-1 */
  #event(name: string, data: string): void {
    const { wanted } = this.#format;
    const hasSigns = this.#look(this.#pattern, data);
    const isWanted = wanted !== undefined && (wanted.test(name) || wanted.test(data));
    if (hasSigns || isWanted || ERROR_EVENT.test(name)) this.#take(decoded(data), name);
    if (this.#start === 'unknown') this.#start = this.#error ? 'error' : 'answer';
  }

  /** A whole answer, or one of several in an array. */
  #body(data: string): void {
    this.#look(WHOLE_PATTERN, data);
    const value = decoded(data);
    for (const part of Array.isArray(value) ? (value as unknown[]) : [value]) this.#take(part, '');
    if (this.#start === 'unknown') this.#start = this.#error ? 'error' : 'answer';
  }

  #take(value: unknown, name: string): void {
    if (typeof value !== 'object' || value === null) return;
    const { usage, id = [], transformations = [], items } = this.#format;
    const ownType = field(value, 'type');
    const type = typeof ownType === 'string' ? ownType : name;
    this.#error ??= errorIn(value, type);
    for (const path of usage) {
      const counts = valueAt(value, path);
      if (typeof counts === 'object' && counts !== null) this.#usage.add(counts);
    }
    for (const path of id) {
      const named = valueAt(value, path);
      if (typeof named === 'string' && named !== '') this.#id = named;
    }
    for (const path of transformations) {
      const reported = valueAt(value, path);
      // the last list is complete
      if (Array.isArray(reported)) this.#mismatches = reported.filter(isPrefixMismatch).length;
    }
    this.#calls.add(value);
    // the last event of an answer may repeat all items
    for (const item of items?.(value, type, this.#items.length === 0) ?? []) {
      if (this.#items.length < MAX_ITEMS) this.#items.push(item);
    }
  }

  /** Measures the strings that the model wrote. @returns whether the event may report something */
  #look(pattern: RegExp, data: string): boolean {
    let hasSigns = false;
    pattern.lastIndex = 0;
    for (let match = pattern.exec(data); match !== null; match = pattern.exec(data)) {
      const [, text, quote] = match;
      if (text === undefined) hasSigns = true;
      if (text === undefined || quote === undefined) continue;
      const end = endOfString(data, pattern.lastIndex - 1);
      this.#textBytes += end - 1 - pattern.lastIndex;
      pattern.lastIndex = end;
    }
    return hasSigns;
  }

  /** Measures strings that are left out of a long text. */
  #countCut(texts: readonly string[]): OnCut {
    return (key, bytes) => {
      if (texts.includes(key)) this.#textBytes += bytes;
    };
  }
}

/** The reasons of both providers that report a changed history. */
const PREFIX_MISMATCH = new Set(['prefix_mismatch', 'prefix_binding_mismatch']);

function isPrefixMismatch(transformation: unknown): boolean {
  const { reason, type } = Object(transformation) as Readonly<Record<string, unknown>>;
  return [reason, type].some((word) => typeof word === 'string' && PREFIX_MISMATCH.has(word));
}

function startsWithMark(bytes: Buffer): boolean {
  return bytes.subarray(0, BYTE_ORDER_MARK.length).equals(BYTE_ORDER_MARK);
}

/** Matches a field of `SIGNS`, or one of the keys of texts, up to the beginning of a string, object or array. */
function patternOf(texts: readonly string[]): RegExp {
  return new RegExp(`"(?:(${texts.join('|')})|${SIGNS})"\\s{0,4}:\\s{0,4}(?:(")|[{[])`, 'g');
}

/** The value of a JSON text whose bytes are given as Latin-1. */
function decoded(data: string): unknown {
  return parsed(
    Buffer.from(data, 'latin1')
      .toString('utf8')
      .replace(/^\uFEFF/, ''),
  );
}
