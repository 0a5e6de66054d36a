import { setImmediate as nextTurn } from 'node:timers/promises';
import { BoundedMap } from '../../base/bounded-map.ts';
import type { FailureReporter } from '../../base/failures.ts';
import { splitLines } from '../../engine/text/lines.ts';
import { estimateTokens } from '../../engine/text/tokens.ts';
import type { Hints } from '../../engine/types.ts';
import type { Dialect, ScannedMessage, ScannedText } from '../../wires/dialects/dialect.ts';
import { type CallInContext, Conversation } from '../../wires/goal/conversation.ts';
import { longJsonFields } from '../../wires/json/value.ts';
import { callFacts } from '../../wires/transcript/tools.ts';
import type { Turns } from '../decide/turns.ts';
import { keyOf, pruneIdOf, textHash } from '../hash.ts';
import type { NotedResult, RecallStore } from '../ports/recall.ts';
import type { Directives, DirectivesView, RequestScope } from '../ports/segments.ts';
import type { Clock, NewDecision, Store } from '../ports.ts';
import { type FindSettings, type FoundText, findTexts } from '../request/find-texts.ts';
import { prefixesOf } from '../request/prefix-memo.ts';
import type { Rewritten } from '../request/rewritten.ts';
import { messageSegmentId } from '../segments/text-segments.ts';

export interface ResultKeeperOptions {
  readonly store: Store & { readonly recall: Pick<RecallStore, 'note' | 'stored'> };
  readonly clock: Clock;
  readonly find: FindSettings;
  /** Deleted texts are not stored again; absent: nothing can be deleted. */
  readonly directives?: Directives;
  readonly turns: Turns;
  /** `false`: only results whose original is already stored (because lines of them were cut) are recorded. */
  readonly keepsAll: boolean;
  /**
   * Lifetime of originals, in milliseconds. A result is stored again at most once per eighth of it, to extend its
   * expiry.
   */
  readonly ttlMs: number;
  readonly onFailure: FailureReporter;
}

/** A request on its way to a model. */
export interface SeenBody {
  /** Plain JSON. */
  readonly body: Buffer;
  readonly dialect: Dialect;
  readonly scope: RequestScope;
  /** Whether originals belong to projects. */
  readonly isOwned: boolean;
  /** The parsed request; `null` if it was not parsed. */
  readonly read: Pick<Rewritten, 'messages' | 'prefixes' | 'conversation'> | null;
}

/**
 * Maximum number and total bytes of queued requests. Beyond that a request is skipped; its results are stored with the
 * next request of the conversation.
 */
const MAX_WAITING = 64;
const MAX_WAITING_BYTES = 64 * 1024 * 1024;
/** Maximum number of remembered message ends, from which a later request continues. */
const MAX_ENDS = 4_000;
/** Number of ends remembered for each request: several, because clients change the last messages. */
const ENDS_OF_REQUEST = 4;
/** Number of texts and of characters after which a transaction is written. */
const WRITTEN_RESULTS = 16;
const WRITTEN_CHARS = 128 * 1024;
const WRITE_WAIT_MS = 5_000;
const MAX_NAME_CHARS = 500;

interface Result {
  readonly original: NewDecision;
  readonly noted: NotedResult;
}

/**
 * Stores the tool results of requests, so that they can be searched. Works in the background; no request waits for it.
 * Each message is read once. A result that cannot be stored now is stored with a later request of its conversation.
 */
export class ResultKeeper {
  readonly #options: ResultKeeperOptions;
  readonly #find: FindSettings;
  /** The conversation up to a message, by a hash of it and of all messages before it. */
  readonly #ends = new BoundedMap<string, Conversation>(MAX_ENDS);
  #last: Promise<void> = Promise.resolve();
  #waiting = 0;
  #waitingBytes = 0;

  constructor(options: ResultKeeperOptions) {
    const { find } = options;
    this.#options = options;
    this.#find = { ...find, minPruneChars: MIN_KEPT_CHARS, minOutputChars: MIN_KEPT_CHARS };
  }

  /** Queues a request that is on its way. Never throws or blocks. */
  record(seen: SeenBody): void {
    const bytes = seen.body.length;
    if (this.#waiting >= MAX_WAITING || this.#waitingBytes + bytes > MAX_WAITING_BYTES) return;
    this.#waiting++;
    this.#waitingBytes += bytes;
    const { onFailure } = this.#options;
    this.#last = this.#last
      .then(() => this.#keep(seen))
      .catch((cause: unknown) => onFailure('results_not_kept', cause))
      .finally(() => {
        this.#waiting--;
        this.#waitingBytes -= bytes;
      });
  }

  /** Resolves when the results of all requests received so far are stored or could not be stored. Never rejects. */
  flush(): Promise<void> {
    return this.#last;
  }

  async #keep({ body, dialect, scope, isOwned, read }: SeenBody): Promise<void> {
    const { turns, directives } = this.#options;
    await nextTurn(); // the request itself has priority
    const messages = read?.messages ?? (await turns.run(() => dialect.scan(body).messages));
    const prefixes = read?.prefixes ?? prefixesOf(dialect, body, messages);
    const period = `${this.#period()} ${scope.project} ${scope.task}`;
    const known = prefixes.findLastIndex((prefix) => prefix !== '' && this.#ends.has(`${period} ${prefix}`));
    if (known === messages.length - 1) return;
    const end = known < 0 ? undefined : this.#ends.get(`${period} ${prefixes[known] ?? ''}`);
    const conversation = end?.fork() ?? beginning(messages, read);
    const view = (directives?.known(scope.project) ?? (await directives?.view(scope.project))) || null;
    const ends = new Map<string, Conversation>();
    const of = { project: scope.project, isOwned };
    let results: Result[] = [];
    let chars = 0;
    for (let i = known + 1; i < messages.length; i++) {
      const message = messages[i];
      if (!message) continue;
      const reading = { bytes: body, message, messageIndex: i, conversation, settings: this.#find };
      const found = await turns.run(() => this.#resultsOf(reading, scope, view));
      results.push(...found);
      chars += found.reduce((sum, { noted }) => sum + noted.chars, 0);
      const prefix = prefixes[i] ?? '';
      if (prefix !== '' && i >= messages.length - ENDS_OF_REQUEST) ends.set(`${period} ${prefix}`, conversation.fork());
      if (results.length < WRITTEN_RESULTS && chars < WRITTEN_CHARS) continue;
      await this.#write(results, of, conversation.id);
      [results, chars] = [[], 0];
    }
    await this.#write(results, of, conversation.id);
    for (const [end, state] of ends) this.#ends.set(end, state);
  }

  /**
   * Number of the current period (an eighth of the TTL). In a new period results are stored again, which extends their
   * expiry.
   */
  #period(): number {
    const { clock, ttlMs } = this.#options;
    return Math.floor(clock.nowMs() / Math.max(1, ttlMs / 8));
  }

  #resultsOf(reading: Parameters<typeof findTexts>[0], scope: RequestScope, view: DirectivesView | null): Result[] {
    const { message, messageIndex, conversation } = reading;
    const calls = new Map<number, CallInContext | undefined>();
    for (const text of message.texts) {
      if (text.use === 'result') calls.set(text.literal.start, conversation.callOf(text.callId, text.name));
    }
    const parts = new Map<string, number>();
    return findTexts(reading).flatMap((found): Result[] => {
      const source = message.texts.find(({ literal }) => literal === found.literal);
      if (!source || !isResult(found, source) || isDeleted(found, source, messageIndex, view)) return [];
      const made = calls.get(found.literal.start);
      const call = callKey(found, made);
      const part = parts.get(call) ?? 0;
      parts.set(call, part + 1);
      const { text, textHash, tool, hints } = found.job;
      const noted = {
        project: scope.project,
        conversationId: conversation.id,
        task: scope.task,
        ordinal: messageIndex,
        pruneId: keptId(textHash),
        tool: tool.slice(0, MAX_NAME_CHARS),
        path: (hints.path ?? '').slice(0, MAX_NAME_CHARS),
        about: aboutOf(hints, made).slice(0, MAX_NAME_CHARS),
        // a result of several texts must not be superseded by its own second text
        call: call === '' ? '' : keyOf(call, String(part)),
        chars: text.length,
        atMs: Math.trunc(this.#options.clock.nowMs()),
      };
      return [{ original: keptText(text, textHash, tool), noted }];
    });
  }

  async #write(
    results: readonly Result[],
    { project, isOwned }: { readonly project: string; readonly isOwned: boolean },
    conversationId: string,
  ): Promise<void> {
    if (results.length === 0) return;
    const { store, keepsAll } = this.#options;
    const hashes = results.map(({ original }) => original.decision.textHash);
    const stored = await store.recall.stored(hashes);
    const isStored = ({ original }: Result): boolean => stored.has(original.decision.textHash);
    const refused = new Set<string>();
    const commit = async (some: readonly Result[], conversation?: string): Promise<void> => {
      if (some.length === 0) return;
      const decisions = some.map(({ original }) => original);
      const of = { conversation, owner: isOwned ? project : undefined };
      const done = await store.commit({ decisions, touch: [], ...of }, WRITE_WAIT_MS);
      for (const key of done.refused) refused.add(key);
    };
    // a stored original counts against the share of the conversation that first stored it
    await commit(results.filter(isStored));
    if (keepsAll)
      await commit(
        results.filter((result) => !isStored(result)),
        conversationId,
      );
    const recordable = results.filter(
      (result) => (keepsAll || isStored(result)) && !refused.has(result.original.decision.key),
    );
    await store.recall.note(recordable.map(({ noted }) => ({ ...noted, conversationId })));
  }
}

/**
 * The conversation to start from: an empty one, or, if the request continues an answer stored by the provider and so
 * lacks the calls, the one that was read.
 */
function beginning(messages: readonly ScannedMessage[], read: SeenBody['read']): Conversation {
  const isWhole = messages.some(({ role }) => role === 'assistant');
  return isWhole || !read ? new Conversation() : read.conversation.fork();
}

/**
 * Whether a text is a tool result to be indexed: an attached file is not, and recovered lines are in the index already.
 */
function isResult({ job, skip }: FoundText, { use }: ScannedText): boolean {
  return skip !== 'recovered' && (use === 'result' || job.tool !== '') && job.text.length >= MIN_KEPT_CHARS;
}

function isDeleted(found: FoundText, source: ScannedText, index: number, view: DirectivesView | null): boolean {
  if (view === null || view.empty || source.use !== 'result') return false;
  const hash = found.around[0] ?? found.job.textHash;
  const segment = messageSegmentId('tool', source.callId || source.name, hash);
  return view.of(segment, index, NO_STEPS) === 'delete';
}

const NO_STEPS: ReadonlySet<string> = new Set();

/** What a call asked for, in the words of its arguments. */
function aboutOf({ path = '', command = '' }: Hints, call: CallInContext | undefined): string {
  return call ? callFacts(call).said : [path, command].filter(Boolean).join('\n');
}

function callKey({ job: { tool, hints } }: FoundText, call: CallInContext | undefined): string {
  if (call) return keyOf(call.name, call.args);
  const { path = '', command = '' } = hints;
  return path === '' && command === '' ? '' : keyOf(tool, path, command);
}

/** Minimum length of stored results, in UTF-16 units. */
export const MIN_KEPT_CHARS = 1_000;
/** Maximum depth of JSON nested in JSON strings that is read. */
const MAX_NESTING = 3;

/** The prune id of a text that is stored whole; it depends on the text alone. */
export function keptId(hash: string): string {
  return pruneIdOf(keptKey(hash));
}

function keptKey(hash: string): string {
  return keyOf('kept', hash);
}

/** A decision that stores a text with nothing cut. */
export function keptText(text: string, hash: string, tool: string): NewDecision {
  const lines = splitLines(text).count;
  const tokens = estimateTokens(text);
  const key = keptKey(hash);
  return {
    text,
    decision: {
      key,
      pruneId: pruneIdOf(key),
      textHash: hash,
      cuts: [],
      sourceType: 'docs',
      kind: 'kept',
      whole: 'kept',
      warnings: [],
      lines,
      keptLines: lines,
      tokensBefore: tokens,
      tokensAfter: tokens,
      goal: '',
      tool,
    },
  };
}

/** The prune ids of the stored texts of a result; for JSON, of the long texts in it. */
export function keptIdsIn(text: string, depth = 0): string[] {
  if (text.length < MIN_KEPT_CHARS) return [];
  const fields = depth < MAX_NESTING ? longJsonFields(text, MIN_KEPT_CHARS) : null;
  return fields ? fields.flatMap(({ value }) => keptIdsIn(value, depth + 1)) : [keptId(textHash(text))];
}
