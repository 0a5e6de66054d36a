import { endOfString, field, MAX_COUNT, parsed } from '../../json/value.ts';
import type { Answer, AnswerError, AnswerStart } from '../dialect.ts';
import { EventStream } from '../event-stream.ts';
import { BoundedJson } from './bounded-json.ts';
import { type Fields, PARTS, UsageFigures } from './figures.ts';
import { ServedAs } from './served.ts';
import { ServerSentEvents } from './server-sent-events.ts';
import { TurnReader } from './turn.ts';

/** Types of events that report an error. AWS names them after its exceptions. */
const ERROR_EVENT = /^error$|^response\.failed$|Exception$/;
const REFUSAL_STATUSES = new Set([400, 422]);
/** Statuses of faults outside the messages, for which another form of the request fails too. */
const OTHER_FAULTS = new Set([401, 402, 403, 404, 409, 413]);
/** Names of errors used by providers and gateways, in types and codes. The first match applies. */
const KINDS: readonly (readonly [AnswerError, RegExp])[] = [
  ['overloaded', /overload|unavailable|capacity|^5\d\d$/i],
  ['limited', /rate_?limit|quota|exhausted|throttl|too_?many|^429$/i],
  ['refused', /invalid|bad_?request|validation|unprocessable/i],
];

/**
 * The error reported by an event or a whole answer; `null` if there is none.
 *
 * @param type - the event's type, if any
 */
function errorIn(event: unknown, type: string): AnswerError | null {
  const error = field(event, 'error') ?? field(field(event, 'response'), 'error');
  const hasFields = typeof error === 'object' && error !== null && Object.keys(error).length > 0;
  if (!hasFields && !(typeof error === 'string' && error !== '') && !ERROR_EVENT.test(type)) return null;
  const from = hasFields ? error : event;
  const words = [type, ...['type', 'code', 'status'].map((key) => String(field(from, key) ?? ''))];
  const statuses = [...words, field(event, 'status'), field(event, 'status_code')].map(Number);
  if (statuses.some((status) => REFUSAL_STATUSES.has(status))) return 'refused';
  if (statuses.some((status) => OTHER_FAULTS.has(status))) return 'failed';
  return KINDS.find(([, pattern]) => words.some((word) => pattern.test(word)))?.[0] ?? 'failed';
}

const MAX_MODEL_CHARS = 200;

const LAST_BLANK = 0x20;
const OPEN_BRACE = 0x7b;
const OPEN_BRACKET = 0x5b;
const BYTE_ORDER_MARK = new Set([0xef, 0xbb, 0xbf]);
const NOT_ASCII = /[\x80-\xff]/;
/** First byte of an AWS frame. No other answer contains it. */
const FRAME = 0;
/**
 * Bedrock's frame type for an event of the messages wire. Source:
 * https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_PayloadPart.html
 */
const ENCLOSING = 'chunk';

/** Field of model-written strings on the responses wire, where later events repeat them in other fields. */
const DELTA = 'delta';
/** Fields of model-written strings. */
const TEXTS = new Set(
  `${DELTA} content text reasoning_content reasoning thinking partial_json arguments input`.split(' '),
);
/**
 * Finds model-written strings, and signs of relevant events: fields about usage, errors, calls and changes of the
 * input; final events of a response or item; error events.
 */
const SEARCHED = new RegExp(
  `"(?:${[...TEXTS].join('|')})"\\s{0,4}:\\s{0,4}"|` +
    '"(?:(?:usage|usageMetadata|name|input_transformations|error)"\\s{0,4}:\\s{0,4}["{[]|type"\\s{0,4}:\\s{0,4}"error")|' +
    // a key with an escaped letter
    '\\\\u00[2-7][\\da-fA-F][^"\\n]{0,60}"\\s{0,4}:\\s{0,4}[{[]|' +
    'response\\.(?:output_item\\.done|completed|incomplete|failed)|interaction\\.(?:created|completed)|step\\.start|^event: ?error',
  'gm',
);

/** The events that end an answer on the responses wire. */
const LAST_EVENT = /^(?:response\.(?:completed|incomplete|failed)|error)$/;

/** Reasons with which the two providers report a changed history. */
const PREFIX_MISMATCH = new Set(['prefix_mismatch', 'prefix_binding_mismatch']);

/** The framing of an answer: how events are encoded in its bytes. */
interface Framing {
  data(bytes: Buffer): void;
  /** Reads the received part; absent if nothing can be read before the end. */
  read?(): void;
  end?(): void;
}

/**
 * Reads an answer of any wire in transit, streamed or whole: server-sent events, JSON, AWS frames, or WebSocket
 * messages. Decodes only events that may report something, keeping at most 64 KB of each. Methods never throw.
 */
export class AnswerReader {
  readonly #usage = new UsageFigures();
  readonly #served = new ServedAs();
  readonly #turn = new TurnReader();
  #model: string | null = null;
  #error: AnswerError | null = null;
  #mismatches = 0;
  #cleared = 0;
  #isOver = false;
  /** Bytes of model-written strings in `delta`, and in other fields. */
  #deltaBytes = 0;
  #textBytes = 0;
  #start: AnswerStart = 'unknown';
  #framing: Framing | null = null;

  /** Adds a decoded chunk of the answer, in order. The chunk must not change later. */
  data(chunk: Buffer): void {
    if (this.#framing) this.#framing.data(chunk);
    else this.#begin(chunk);
  }

  /** Adds a whole answer instead of `data`: JSON or events, of at most 64 KB. */
  whole(answer: Buffer): void {
    if (answer[0] !== OPEN_BRACE) {
      this.data(answer);
      return;
    }
    const json = answer.toString('latin1');
    this.#signsIn(json);
    this.#take(json, '');
  }

  /** Adds an event that arrived as a separate message, instead of `data`. */
  event(json: Buffer, name = ''): void {
    const whole = this.#json(name);
    whole.data(json);
    whole.end();
  }

  /** Classification of the answer so far, by its beginning. */
  start(): AnswerStart {
    this.#framing?.read?.();
    return this.#start;
  }

  /** Whether the final event of a response, or an error, has arrived. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Returns what the answer reported. No `data` may follow. */
  end(): Answer {
    this.#framing?.end?.();
    const usage = this.#usage.sum();
    const turn = this.#turn.turn();
    const textBytes = this.#deltaBytes || this.#textBytes;
    return {
      usage: usage && { ...usage, ...this.#served.facts },
      model: this.#model,
      error: this.#error,
      turn,
      reports: { prefixMismatches: this.#mismatches, clearedTokens: this.#cleared, hasOddCounts: this.#usage.isOdd },
      textBytes,
      isEmpty: usage === null && textBytes === 0 && turn.calls.size === 0 && turn.items.length === 0,
    };
  }

  /** Detects the framing by the first byte. Servers may send blanks before an answer to keep the connection open. */
  #begin(chunk: Buffer): void {
    let start = 0; // a call per byte would take ten times as long
    for (; start < chunk.length; start++) {
      const byte = chunk[start] ?? 0;
      if (byte === FRAME || (byte > LAST_BLANK && !BYTE_ORDER_MARK.has(byte))) break;
    }
    if (start === chunk.length) return;
    const first = chunk[start];
    if (first === FRAME) this.#framing = this.#frames();
    else if (first === OPEN_BRACE || first === OPEN_BRACKET) this.#framing = this.#json('');
    else this.#framing = this.#events();
    this.#framing.data(start === 0 ? chunk : chunk.subarray(start));
  }

  #events(): Framing {
    const placesIn = (events: string): number[] => {
      const signs = this.#signsIn(events);
      const first = this.#start === 'unknown' ? events.search(/^data:/m) : -1;
      return first < 0 ? signs : [first, ...signs];
    };
    return new ServerSentEvents(placesIn, (name, data) => this.#take(data, name), this.#countText);
  }

  /** Framing of plain JSON: an event, a whole answer, or an array of its parts. */
  #json(name: string): BoundedJson {
    const take = (json: string): void => {
      if (this.#signsIn(json).length > 0 || this.#start === 'unknown' || ERROR_EVENT.test(name)) this.#take(json, name);
    };
    return new BoundedJson(take, this.#countText);
  }

  #frames(): Framing {
    const frames = new EventStream((type, payload) => {
      const enclosed = type === ENCLOSING ? field(parsed(payload.toString('utf8')), 'bytes') : undefined;
      if (typeof enclosed === 'string') this.event(Buffer.from(enclosed, 'base64'));
      else this.event(payload, type);
    });
    return frames;
  }

  /** @param data - JSON bytes as Latin-1 */
  #take(data: string, name: string): void {
    const value = parsed(NOT_ASCII.test(data) ? Buffer.from(data, 'latin1').toString('utf8') : data);
    if (Array.isArray(value)) for (const part of value as unknown[]) this.#add(part, name);
    else this.#add(value, name);
    if (this.#start === 'unknown') this.#start = this.#error ? 'error' : 'answer';
  }

  #add(value: unknown, name: string): void {
    if (typeof value !== 'object' || value === null) return;
    const event = value as Fields;
    const type = typeof event.type === 'string' ? event.type : name;
    if (event.error !== undefined || event.response !== undefined || ERROR_EVENT.test(type))
      this.#error ??= errorIn(event, type);
    this.#isOver ||= LAST_EVENT.test(type);
    this.#usage.addFrom(event);
    this.#served.addFrom(event);
    this.#turn.add(event, type);
    this.#note(event);
    for (const part of PARTS) {
      const inner = event[part];
      if (typeof inner === 'object' && inner !== null) this.#note(inner as Fields);
    }
  }

  /** Reads the model and the provider's reports in an event, or in an object of it. The last list is the complete one. */
  #note({ model, modelVersion, context_management: management, input_transformations: transformations }: Fields): void {
    const named = model ?? modelVersion;
    if (typeof named === 'string' && named !== '') this.#model ??= named.slice(0, MAX_MODEL_CHARS);
    const edits = management === undefined ? undefined : field(management, 'applied_edits');
    if (Array.isArray(edits)) this.#cleared = edits.reduce((sum: number, edit) => sum + clearedBy(edit), 0);
    if (Array.isArray(transformations)) this.#mismatches = transformations.filter(isPrefixMismatch).length;
  }

  /** Measures model-written strings. @returns the offsets of signs of relevant events */
  #signsIn(text: string): number[] {
    const signs: number[] = [];
    SEARCHED.lastIndex = 0;
    while (SEARCHED.test(text)) {
      const last = SEARCHED.lastIndex - 1; // no capture group: it would take as long as the search itself
      const key = text.charAt(last) === '"' ? keyBefore(text, last) : '';
      if (TEXTS.has(key)) {
        SEARCHED.lastIndex = endOfString(text, last);
        this.#countText(key, SEARCHED.lastIndex - last - 2);
      } else signs.push(last);
    }
    return signs;
  }

  #countText = (key: string, bytes: number): void => {
    if (key === DELTA) this.#deltaBytes += bytes;
    else if (TEXTS.has(key)) this.#textBytes += bytes;
  };
}

/** The field whose value begins at an offset. */
function keyBefore(text: string, value: number): string {
  const close = text.lastIndexOf('"', value - 1);
  return text.slice(text.lastIndexOf('"', close - 1) + 1, close);
}

/** The input tokens that an edit removed, or 0. */
function clearedBy(edit: unknown): number {
  const { cleared_input_tokens: tokens } = Object(edit) as Readonly<Record<string, unknown>>;
  return typeof tokens === 'number' && tokens > 0 && tokens <= MAX_COUNT ? tokens : 0;
}

function isPrefixMismatch(transformation: unknown): boolean {
  const { reason, type } = Object(transformation) as Readonly<Record<string, unknown>>;
  return [reason, type].some((word) => typeof word === 'string' && PREFIX_MISMATCH.has(word));
}
