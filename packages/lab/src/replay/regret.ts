import {
  callsOf,
  type RecordedCall,
  type RecordedMessage,
  resultLines,
  stringsIn,
  textOf,
  textResultOf,
} from './messages.ts';

/** The target of a call, as the proxy understands it. */
export interface CallTarget {
  readonly reads: boolean;
  readonly path: string;
}

/** How a conversation used a line of an earlier tool result. */
export type Use = 'quoted' | 'edited by number' | 'read again';

/** A line of a tool result that the conversation used later. */
export interface UsedLine {
  readonly use: Use;
  readonly line: string;
  /** Index of the message that used the line. */
  readonly at: number;
  /** Index of the message with the originating result; -1 if unknown. */
  readonly from: number;
  /** Whether the forwarded tool result still contained the text. */
  readonly kept: boolean;
  /** Whether any forwarded result that the model had received by then contained the text. */
  readonly visible: boolean;
}

/** Minimum length of a line, in characters. Shorter lines (`}`, `return None`) occur by coincidence. */
const MIN_LINE = 12;

const NUMBER = /^[ \t]{0,40}(\d{1,7})(?:[:|→│]| \||\t)/u;
/** Matches `path:12:` in a search result. */
const PLACE = /^[^\s:]{1,300}:\d{1,7}[:-]/;

/** Strips indentation, and the line number or location that a tool added. */
export function bareLine(line: string): string {
  return line.slice(0, 2000).replace(NUMBER, '').replace(PLACE, '').trim();
}

/** Line number added by a tool, or `null`. */
function numberOf(line: string): number | null {
  const [, digits] = NUMBER.exec(line) ?? [];
  return digits === undefined ? null : Number(digits);
}

function isDistinctive(line: string): boolean {
  return line.length >= MIN_LINE && /[A-Za-z]{3}/.test(line);
}

/** The longest word of a line; a text without it cannot quote the line. */
function keyWord(line: string): string {
  return (line.match(/\w{1,100}/g) ?? []).reduce((a, b) => (b.length > a.length ? b : a), '');
}

/** The line range given in a call: `edit 12:15 …`, `{"start_line": 12, "end_line": 15}`. */
export function namedRange({ name, args }: RecordedCall): { first: number; last: number } | null {
  const numbers = (...keys: string[]): number | null => {
    for (const key of keys) {
      const [, value] = new RegExp(`"${key}"\\s{0,3}:\\s{0,3}"?(\\d{1,7})`).exec(args) ?? [];
      if (value !== undefined) return Number(value);
    }
    return null;
  };
  const first = numbers('start_line', 'startLine', 'start');
  const last = numbers('end_line', 'endLine', 'end');
  if (/edit|replace|write|patch/i.test(name) && first !== null) return { first, last: last ?? first };
  const [, from, to] = /(?:^|")\s{0,3}edit (\d{1,7}):(\d{1,7})/.exec(`${args}`) ?? [];
  return from === undefined ? null : { first: Number(from), last: Number(to) };
}

/** Form of a message in requests with up to `until` messages. */
export interface EarlierForm {
  readonly until: number;
  readonly message: RecordedMessage;
}

interface Result {
  readonly at: number;
  /** Bare lines that are long enough to be recognised. */
  readonly lines: ReadonlySet<string>;
  readonly raw: readonly string[];
  /** Its forwarded forms in chronological order; the first one whose `until` is not exceeded applies. */
  readonly forms: readonly { readonly until: number; readonly lines: ReadonlySet<string> }[];
  readonly target: CallTarget;
  readonly callKey: string;
}

/** Maximum examined range of an edit by line numbers. */
const MAX_RANGE = 2000;

/**
 * Finds lines of tool results that a conversation used later, and whether they had been forwarded.
 *
 * @param messages - the conversation as recorded
 * @param forwarded - the same messages in the form last sent by the proxy
 * @param targetOf - returns the target of a call
 * @param earlier - earlier forms of messages, by index, oldest first
 */
export function usedLines(
  messages: readonly RecordedMessage[],
  forwarded: readonly RecordedMessage[],
  targetOf: (call: RecordedCall) => CallTarget,
  earlier: ReadonlyMap<number, readonly EarlierForm[]> = new Map(),
): UsedLine[] {
  const reading = new Reading(targetOf);
  messages.forEach((message, at) => {
    const framed = message.role === 'user' ? textResultOf(message, messages[at - 1]) : null;
    const isTool = message.role === 'tool' || message.role === 'function';
    if (message.role === 'assistant') reading.answer(message, at);
    else if (!isTool && !framed) reading.said.push(textOf(message));
    else {
      const last = { until: Number.POSITIVE_INFINITY, message: forwarded[at] ?? message };
      const call = framed ? framed.call : reading.callOf(message);
      reading.result(message, at, [...(earlier.get(at) ?? []), last], call);
    }
  });
  return [...reading.used.values()];
}

/** State while a conversation is read. */
class Reading {
  /** Used lines by use and text. Only the first use counts. */
  readonly used = new Map<string, UsedLine>();
  /** All texts so far other than tool results; lines in them do not depend on a result. */
  readonly said: string[] = [];
  readonly #results: Result[] = [];
  /** Lines of tool results, by longest word. */
  readonly #byWord = new Map<string, Set<string>>();
  readonly #calls = new Map<string, RecordedCall>();
  readonly #targetOf: (call: RecordedCall) => CallTarget;

  constructor(targetOf: (call: RecordedCall) => CallTarget) {
    this.#targetOf = targetOf;
  }

  /** Processes a model message: lines that it quotes, and lines referred to by its calls. */
  answer(message: RecordedMessage, at: number): void {
    const own = callsOf(message);
    const texts = [textOf(message), ...own.flatMap(({ args }) => stringsIn(args))];
    for (const line of quotedIn(texts.join('\n'), this.#byWord, this.said)) {
      const from = this.#results.findLast(({ lines }) => lines.has(line));
      this.#note('quoted', line, at, from);
    }
    for (const call of own) {
      const range = namedRange(call);
      if (range === null || range.last - range.first > MAX_RANGE) continue;
      noteNumbered(this.#results, range, (line, from) => this.#note('edited by number', line, at, from));
    }
    for (const call of own) this.#calls.set(call.id || call.name, call);
    this.said.push(...texts);
  }

  callOf({ tool_call_id: id, name }: RecordedMessage): RecordedCall | undefined {
    return this.#calls.get(String(id ?? name ?? ''));
  }

  /** Processes a tool result: lines that an earlier result for the same target contained. */
  result(message: RecordedMessage, at: number, forms: readonly EarlierForm[], call: RecordedCall | undefined): void {
    const result = resultOf(at, message, forms, call, this.#targetOf);
    const before = this.#results.findLast((other) => isSameTarget(other, result));
    if (before) {
      for (const line of result.lines) if (before.lines.has(line)) this.#note('read again', line, at, before);
    }
    this.#results.push(result);
    for (const line of result.lines) {
      const word = keyWord(line);
      const list = this.#byWord.get(word);
      if (list) list.add(line);
      else this.#byWord.set(word, new Set([line]));
    }
  }

  #note(use: Use, line: string, at: number, from: Result | undefined): void {
    const id = `${use}\0${line}`;
    if (this.used.has(id)) return;
    const kept = from === undefined || formAt(from, at).has(line);
    const visible = kept || this.#results.some((result) => formAt(result, at).has(line));
    this.used.set(id, { use, line, at, from: from?.at ?? -1, kept, visible });
  }
}

function resultOf(
  at: number,
  message: RecordedMessage,
  forms: readonly EarlierForm[],
  call: RecordedCall | undefined,
  targetOf: (call: RecordedCall) => CallTarget,
): Result {
  const raw = resultLines(textOf(message));
  return {
    at,
    raw,
    lines: new Set(raw.map(bareLine).filter(isDistinctive)),
    forms: forms.map((form) => ({
      until: form.until,
      lines: new Set(resultLines(textOf(form.message)).map(bareLine)),
    })),
    target: shownFile(raw, call) ?? (call ? targetOf(call) : { reads: false, path: '' }),
    callKey: call ? `${call.name}\0${call.args}` : '',
  };
}

/** Lines of a result in the form that the model had received at a given request. */
function formAt({ forms }: Result, messages: number): ReadonlySet<string> {
  return forms.find(({ until }) => messages <= until)?.lines ?? NO_LINES;
}

const NO_LINES: ReadonlySet<string> = new Set();

/**
 * The file named in the header of a windowed viewer (`[File: a.py (94 lines total)]`), if the call was a read. Edits
 * print the window too.
 */
function shownFile(raw: readonly string[], call: RecordedCall | undefined): CallTarget | null {
  const header = raw.slice(0, 3).find((line) => line.startsWith('[File: '));
  const verb = call && (stringsIn(call.args)[0] ?? '').trimStart().slice(0, 40);
  const shows = call && [call.name, verb].some((word) => /^(?:open|goto|scroll|view|cat|read)/i.test(word ?? ''));
  if (header === undefined || !shows) return null;
  const path = header.slice(7).split(' (')[0] ?? '';
  return { reads: true, path: path.split('/').slice(-2).join('/') };
}

/** Whether two results have the same target: the same call, or the same file. */
function isSameTarget(earlier: Result, later: Result): boolean {
  if (!later.target.reads || later.callKey === '') return false;
  if (earlier.callKey === later.callKey) return true;
  return earlier.target.reads && later.target.path !== '' && earlier.target.path === later.target.path;
}

/** Whether a text contains a line or, for a path, its last two components. */
function holds(text: string, line: string): boolean {
  if (text.includes(line)) return true;
  if (line.includes(' ') || !line.includes('/')) return false;
  const tail = line.split('/').slice(-2).join('/');
  return tail.length >= MIN_LINE && text.includes(tail);
}

/** Lines quoted in a text that so far only tool results contained. */
function quotedIn(text: string, byWord: ReadonlyMap<string, Set<string>>, said: readonly string[]): string[] {
  const words = new Set(text.match(/\w{1,100}/g) ?? []);
  const quoted: string[] = [];
  for (const word of words) {
    for (const line of byWord.get(word) ?? []) {
      if (holds(text, line) && !said.some((earlier) => holds(earlier, line))) quoted.push(line);
    }
  }
  return quoted;
}

/** Records the lines of a range, taken from the newest result that contains the first line's number. */
function noteNumbered(
  results: readonly Result[],
  { first, last }: { first: number; last: number },
  note: (line: string, from: Result) => void,
): void {
  const source = results.findLast(({ raw }) => raw.some((line) => numberOf(line) === first));
  for (const line of source?.raw ?? []) {
    const number = numberOf(line);
    if (source === undefined || number === null || number < first || number > last) continue;
    const bare = bareLine(line);
    if (bare !== '') note(bare, source);
  }
}
