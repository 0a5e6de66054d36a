import { setImmediate as nextTurn } from 'node:timers/promises';
import type { FailureReporter } from '../../base/failures.ts';
import { WorkQueue } from '../../base/work-queue.ts';
import type { Dialect, ScannedText } from '../../wires/dialects/dialect.ts';
import { Conversation } from '../../wires/goal/conversation.ts';
import { BodyWalk } from '../../wires/json/walk.ts';
import { openingEnd } from '../compactions/signs.ts';
import { advanceFor, type Turns } from '../decide/turns.ts';
import { textHash } from '../hash.ts';
import { keptId } from '../kept-text.ts';
import type { Observer, SeenMessage, SeenRequestHead, SeenResult } from '../ports/seen.ts';
import type { RequestScope, SeenSegment } from '../ports/segments.ts';
import { usualShownId } from '../request/conversation-names.ts';
import { findTexts } from '../request/find-texts.ts';
import {
  BodyTexts,
  containsRecovered,
  type FindSettings,
  type FoundText,
  innerTexts,
  isTooLong,
  minChars,
} from '../request/found-text.ts';
import { prefixesOf } from '../request/prefix-memo.ts';
import type { ReadBody } from '../request/read.ts';
import { MIN_KEPT_CHARS, type ReadResult } from '../request/results.ts';
import { type SessionHeaders, sessionOf } from '../request/session.ts';
import { type DecidedSegments, SegmentDescriber } from '../segments/describe.ts';

/** The parsed texts of a request's messages. */
type ReadTexts = Pick<ReadBody, 'found' | 'results' | 'texts' | 'messages'>;

const HEAD_BYTES = 300;

/** Prepares messages for observers. Decodes and hashes only texts that the pipeline has not processed already. */
export class SeenMessages {
  readonly #read: ReadTexts;
  readonly #describer: SegmentDescriber | null;
  readonly #isShort: boolean;

  /**
   * @param decided - `null` if segments are not needed
   * @param isShort - only results that are too short to be stored otherwise
   */
  constructor(
    read: ReadTexts,
    decided: DecidedSegments | null,
    settings: Pick<FindSettings, 'neverPruneTool' | 'neverPrunePath'>,
    isShort = false,
  ) {
    this.#read = read;
    this.#isShort = isShort;
    this.#describer = decided && new SegmentDescriber(decided, settings);
  }

  /** Returns a message; must be called in ascending order. */
  at(index: number): SeenMessage & { readonly chars: number } {
    const results = this.#resultsOf(index);
    const idsOf = (source: ScannedText) =>
      results.flatMap((result) => (result.source === source ? [result.pruneId] : []));
    const segments: readonly SeenSegment[] = this.#describer?.of(index, idsOf) ?? [];
    let chars = 1;
    for (const { text } of results) chars += text.length;
    for (const { text } of segments) chars += text.length;
    const { role = 'other' } = this.#read.messages[index] ?? {};
    return { index, role, words: this.#wordsOf(index), head: this.#headOf(index), results, segments, chars };
  }

  #wordsOf(index: number): string[] {
    const { messages, texts } = this.#read;
    const message = messages[index];
    if (message?.role !== 'user') return [];
    const words = message.texts.filter(({ use, literal }) => use === 'words' && !isTooLong(literal));
    return words.map(({ literal }) => texts.at(literal) ?? '');
  }

  #headOf(index: number): string {
    const { messages, texts } = this.#read;
    const message = messages[index];
    if (message?.role !== 'other') return '';
    const { start, end } = message.span;
    return texts.bytes.toString('latin1', start, Math.min(end, start + HEAD_BYTES));
  }

  #resultsOf(index: number): (SeenResult & { readonly source: ScannedText })[] {
    return atIndex(this.#read.results, index).flatMap((result) => {
      const { source, tool, path, said, call } = result;
      const callId = source.use === 'result' ? source.callId || source.name : null;
      return this.#textsOf(result).map(({ text, hash, outerHash }) => {
        return { source, text, hash, outerHash, pruneId: keptId(hash), tool, path, said, call, callId };
      });
    });
  }

  #textsOf({ messageIndex, source, range, recovered, isFound }: ReadResult) {
    const { literal } = source;
    if (recovered || isTooLong(literal)) return [];
    const text = (this.#read.texts.at(literal) ?? '').slice(range.start, range.end);
    if (containsRecovered(text)) return [];
    if (this.#isShort) {
      const hash = textHash(text);
      return text.length < MIN_KEPT_CHARS && text.trim() !== '' ? [{ text, hash, outerHash: hash }] : [];
    }
    const found = atIndex(this.#read.found, messageIndex).filter((one) => one.literal === literal);
    if (isFound && found.length > 0 && found.every(({ place }) => place.start === 0))
      return found.map(({ job, around }) => ({
        text: job.text,
        hash: job.textHash,
        outerHash: around[0] ?? job.textHash,
      }));
    return innerTexts(text, MIN_KEPT_CHARS).map((inner) => {
      const hash = found.find(({ job }) => job.text === inner.text)?.job.textHash ?? textHash(inner.text);
      return { text: inner.text, hash, outerHash: inner.around[0] ?? hash };
    });
  }
}

/** Items of one message, from a list in message order. */
function atIndex<Item extends { readonly messageIndex: number }>(
  items: readonly Item[],
  index: number,
): readonly Item[] {
  let [low, high] = [0, items.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((items[middle]?.messageIndex ?? index) < index) low = middle + 1;
    else high = middle;
  }
  let end = low;
  while (items[end]?.messageIndex === index) end++;
  return items.slice(low, end);
}

/** Parsed messages of a request, with the texts of messages from `first` on. */
type ReadMessages = Pick<
  ReadBody,
  'scanned' | 'messages' | 'prefixes' | 'conversation' | 'session' | 'shownId' | 'first' | 'found' | 'results' | 'texts'
>;

/** A request to pass to the observers. */
export interface ObservedRequest {
  readonly body: Buffer;
  readonly dialect: Dialect;
  readonly scope: RequestScope;
  /** See `SeenRequestHead`. */
  readonly purpose: SeenRequestHead['purpose'];
  /** Absent if the headers contain no session id. */
  readonly sessions?: SessionHeaders | undefined;
  /** Whether results of this request may be stored. */
  readonly keepsResults: boolean;
  /** Whether originals belong to projects. */
  readonly isOwned: boolean;
  /** `null` if the request was forwarded unparsed. */
  readonly read: ReadMessages | null;
  /** `null` if its texts were not decided, so that its segments are not recorded. */
  readonly segments: DecidedSegments | null;
}

interface SeenReaderOptions {
  readonly find: FindSettings;
  readonly observers: readonly Observer[];
  /** Scheduler shared by all long-running work on this thread. */
  readonly turns: Turns;
  readonly onFailure: FailureReporter;
}

/** First requests of a conversation below this size contain nothing to collect. */
const MIN_REPORTED_BYTES = 4 * 1024;
/** Characters processed before yielding (about 5 ms). */
const PIECE_CHARS = 128 * 1024;
/** Maximum time spent on older messages before yielding, in milliseconds. */
const REREAD_MS = 5;
/** Limit for queued body bytes; beyond it, large requests wait before they are read. */
const MAX_WAITING_BYTES = 16 * 1024 * 1024;
/** Smaller bodies are never delayed, because they add little. */
const LARGE_BYTES = 64 * 1024;
const walk = new BodyWalk();

/**
 * Passes new messages of forwarded requests to all observers: one request at a time, each message once, in small pieces
 * so that other requests are served in between.
 */
export class SeenReader {
  readonly #options: SeenReaderOptions;
  readonly #queue: WorkQueue;
  #source = (): Promise<void> => Promise.resolve();

  constructor(options: SeenReaderOptions) {
    const { onFailure } = options;
    this.#options = options;
    this.#queue = new WorkQueue({ maxBytes: MAX_WAITING_BYTES, onFailure, reason: 'request_not_observed' });
  }

  /** Queues a request. Never throws or blocks. One that was forwarded unparsed is only read if it may have results. */
  add(request: ObservedRequest): void {
    if (request.read === null && hasNoResults(request, this.#options.find)) return;
    this.#queue.push(request.body.length, () => this.#read(request));
  }

  /** Resolves once a body of this size may be added; `undefined` if it may be now. Never rejects. */
  room(bytes: number): Promise<void> | undefined {
    return bytes >= LARGE_BYTES ? this.#queue.room() : undefined;
  }

  /** Resolves when all requests received so far have been handed to the observers. Never rejects. */
  async flush(): Promise<void> {
    await this.#source();
    await this.#queue.flush();
  }

  /** @param source - resolves once all finished requests were added here */
  fedBy(source: () => Promise<void>): void {
    this.#source = source;
  }

  async #read(request: ObservedRequest): Promise<void> {
    const { turns, observers, find } = this.#options;
    await nextTurn(); // forwarding the request itself has priority
    let read = request.read ?? (await turns.run(() => scanned(request)));
    let head = headOf(request, read);
    for (const observer of observers) observer.begin?.(head);
    let from = read.messages.length;
    for (const observer of observers) from = Math.min(from, observer.newFrom(head));
    if (from === read.messages.length) return;
    if (from < read.first) {
      read = await this.#reread(request, read);
      head = headOf(request, read);
    }
    const seen = head;
    const audience = observers.map((observer) => ({ observer, from: observer.newFrom(seen) }));
    const reading = new SeenMessages(read, head.segments?.hasOnlyBegun ? null : request.segments, find);
    await this.#pass(seen, reading, from, audience);
  }

  /** Passes the results of a request that are too short to be stored otherwise to an observer. */
  async short(request: ObservedRequest, conversationId: string, observer: Observer): Promise<void> {
    const { turns, find } = this.#options;
    const plain = await turns.run(() => scanned(request));
    const read = await this.#reread(request, plain, { ...find, minKeptChars: 1 });
    const reading = new SeenMessages(read, null, find, true);
    await this.#pass({ ...headOf(request, read), conversationId }, reading, 0, [{ observer, from: 0 }]);
  }

  /** Passes the messages of a request from an index on to observers, in small pieces. */
  async #pass(
    request: SeenRequestHead,
    reading: SeenMessages,
    from: number,
    audience: readonly { readonly observer: Observer; readonly from: number }[],
  ): Promise<void> {
    for (let next = from; next < request.messages; ) {
      next = await this.#options.turns.run(() => {
        const messages: SeenMessage[] = [];
        let at = next;
        for (let chars = 0; chars < PIECE_CHARS && at < request.messages; at++) {
          const message = reading.at(at);
          messages.push(message);
          chars += message.chars;
        }
        const isLast = at === request.messages;
        for (const { observer, from: first } of audience) {
          if (first < at) observer.see({ request, messages: messages.filter(({ index }) => index >= first), isLast });
        }
        return at;
      });
    }
  }

  /**
   * Reads the messages before `first` again, because the request was forwarded unparsed, or an observer could not store
   * its results.
   */
  async #reread(
    { body, dialect, scope }: ObservedRequest,
    read: ReadMessages,
    settings: FindSettings = this.#options.find,
  ): Promise<ReadMessages> {
    const { messages, first } = read;
    const texts = first === messages.length ? new BodyTexts(body) : read.texts;
    const conversation = beginning(read);
    const found: FoundText[] = [];
    const results: ReadResult[] = [];
    const { turns } = this.#options;
    const reading = (function* (): Generator<void, true> {
      for (const [messageIndex, message] of messages.slice(0, first).entries()) {
        found.push(...findTexts({ texts, message, messageIndex, conversation, settings, results }));
        yield;
      }
      return true;
    })();
    while ((await turns.run(() => advanceFor(reading, REREAD_MS))) === null);
    const { origin = '' } = scope;
    const shownId =
      read.shownId || usualShownId(conversation.id, { session: read.session, wire: dialect.name, origin });
    return { ...read, shownId, texts, found: [...found, ...read.found], results: [...results, ...read.results] };
  }
}

/** Whether no text of a model request is long enough to be stored. Larger bodies nearly always have one. */
function hasNoResults({ body, dialect, purpose }: ObservedRequest, find: FindSettings): boolean {
  if (purpose !== 'generate' || dialect.walk === undefined || body.length >= LARGE_BYTES) return false;
  return walk.walk(body, 0, dialect.walk) && walk.longest < Math.min(MIN_KEPT_CHARS, minChars(find));
}

/** Scans a request that was forwarded unparsed: messages are found, but no texts. */
function scanned({ dialect, body, sessions }: ObservedRequest): ReadMessages {
  const scanned = dialect.scan(body);
  const { messages } = scanned;
  const prefixes = prefixesOf(body, messages);
  const session = sessionOf(sessions, { body, messages, outside: scanned.outside });
  const nothing = { found: [], results: [], texts: new BodyTexts(body), session, shownId: '' };
  return { scanned, messages, prefixes, conversation: new Conversation(), first: messages.length, ...nothing };
}

/**
 * The conversation to start from: empty, or the parsed one if the request continues a stored answer and so lacks
 * earlier calls.
 */
function beginning({ messages, conversation }: ReadMessages): Conversation {
  return messages.some(({ role }) => role === 'assistant') ? new Conversation() : conversation.fork();
}

function headOf(request: ObservedRequest, read: ReadMessages): SeenRequestHead {
  const { body, scope, keepsResults, isOwned, segments, purpose } = request;
  const { messages, prefixes, first, shownId, session, scanned } = read;
  return {
    scope,
    conversationId: shownId,
    prefixes,
    messages: messages.length,
    first,
    bytes: body.length,
    model: scanned.model,
    purpose,
    session,
    opening: openingEnd(messages),
    keepsResults,
    isOwned,
    segments: segments && {
      scope: segments.scope,
      version: `${segments.directives.version} ${segments.steps.joined}`,
      hasOnlyBegun: hasOnlyBegun(body, read),
    },
  };
}

/** Whether a small request only contains the user's first words, so that there is nothing to collect. */
function hasOnlyBegun(body: Buffer, { first, found, messages }: ReadMessages): boolean {
  if (first > 0 || found.length > 0 || body.length >= MIN_REPORTED_BYTES) return false;
  return messages.every(({ role }) => role !== 'assistant' && role !== 'tool');
}
