import { LRUCache } from 'lru-cache';
import { BoundedMap } from '../../base/bounded-map.ts';
import type { FailureReporter } from '../../base/failures.ts';
import { type Work, waitFor } from '../../base/work.ts';
import { type BackgroundWriter, WriteBehind } from '../../base/write-behind.ts';
import type { AnswerTurn } from '../../wires/dialects/dialect.ts';
import { Conversation } from '../../wires/goal/conversation.ts';
import type { KeptAnswers } from '../ports/answers.ts';
import type { SentMessage, Store } from '../ports.ts';
import type { LateRecords } from '../sent/late-records.ts';
import { acceptedPrefix, type SentMemory, wholeRecord } from '../sent/records.ts';
import { foldAnswer } from './find-texts.ts';
import type { Checkpoint, RememberedBody } from './prefix-memo.ts';
import { type ReadBody, tailOf } from './read.ts';
import { newCutPrefixes, type RewrittenRequest } from './rewritten.ts';
import { callWritesMarker } from './written-markers.ts';

/**
 * Limit for remembered messages with accepted cuts. Each is needed for one turn only: once an answer follows a cut
 * message, the provider has accepted it.
 */
const MAX_ACCEPTED = 20_000;

interface AcceptedCutsOptions {
  readonly store: Pick<Store, 'addSent'>;
  /** Takes the records if they cannot be written. */
  readonly late: LateRecords;
  readonly sent: SentMemory;
  /** Shared write-behind queue. Default: a separate one. */
  readonly behind?: WriteBehind | undefined;
  readonly onFailure: FailureReporter;
}

/** Remembers which cuts a provider has accepted. After that, a refusal does not trigger a resend without pruning. */
export class AcceptedCuts {
  readonly #options: AcceptedCutsOptions;
  readonly #prefixes = new BoundedMap<string, true>(MAX_ACCEPTED);
  readonly #writer: BackgroundWriter;
  /** Records that are not written yet. */
  #waiting: SentMessage[] = [];

  constructor(options: AcceptedCutsOptions) {
    this.#options = options;
    const { behind = new WriteBehind() } = options;
    this.#writer = behind.writer(() => this.#write());
  }

  /** Sets `acceptedBefore` if the provider is known to have accepted its cuts. */
  markAccepted(request: RewrittenRequest): RewrittenRequest {
    const isAccepted = request.acceptedBefore || newCutPrefixes(request).some((prefix) => this.#prefixes.has(prefix));
    return isAccepted === request.acceptedBefore ? request : { ...request, acceptedBefore: isAccepted };
  }

  /** Whether all cuts of a remembered body up to a checkpoint are known to be accepted. */
  covers({ outcomes, prefixes, messages }: RememberedBody, checkpoint: Checkpoint): boolean {
    const tail = tailOf(messages.slice(0, checkpoint.messages));
    return outcomes
      .slice(0, checkpoint.outcomes)
      .some(
        ({ pruneId, messageIndex }) =>
          pruneId !== null && (messageIndex < tail || this.#prefixes.has(prefixes[messageIndex] ?? '')),
      );
  }

  /**
   * Records that a provider accepted a request's new cuts and its unpruned history. Durable within a second: if the
   * process is killed before, the client sends the request again, or the model's answer with the next one.
   */
  add(request: RewrittenRequest): void {
    // only unanswered cuts need a record: an answer after a cut message proves that its cuts were accepted
    const fresh = newCutPrefixes(request).filter((prefix) => !this.#prefixes.has(prefix));
    for (const prefix of fresh) this.#prefixes.set(prefix, true);
    const sent = [...request.rawPrefixes, ...fresh.map(acceptedPrefix)].map(wholeRecord);
    if (sent.length === 0) return;
    this.#options.sent.add(sent);
    this.#waiting.push(...sent);
    this.#writer.soon(this.#waiting.length);
  }

  /** Writes what is waiting. Never rejects. */
  flush(): Promise<void> {
    return this.#writer.flush();
  }

  async #write(): Promise<void> {
    const waiting = this.#waiting;
    if (waiting.length === 0) return;
    this.#waiting = [];
    try {
      await this.#options.store.addSent(waiting);
    } catch (cause) {
      this.#options.late.add(waiting);
      this.#options.onFailure('past_not_noted', cause);
    }
  }
}

const MAX_REMEMBERED = 10_000;

/**
 * Conversations that are forwarded unpruned, because a provider refused one of their pruned requests. Conversations are
 * recognised by their messages, because every later request begins with the messages of the refused one.
 */
export class RefusedConversations {
  readonly #store: Store;
  readonly #hashes = new Set<string>();

  constructor(store: Store) {
    this.#store = store;
  }

  /** Whether no conversation was refused. */
  get isEmpty(): boolean {
    return this.#hashes.size === 0;
  }

  /** Loads conversations recorded by earlier and other processes. */
  async load(): Promise<void> {
    for (const hash of await this.#store.refusedConversations()) this.#hashes.add(hash);
  }

  /** Whether a request contains the last message of a refused one, compared by all keys of its messages. */
  covers({ prefixes, secondKeys }: Pick<ReadBody, 'prefixes' | 'secondKeys'>): boolean {
    if (this.#hashes.size === 0) return false;
    const keys = [...secondKeys.values()].flat().map(({ key }) => key);
    return [...prefixes, ...keys].some((key) => this.#hashes.has(key));
  }

  /**
   * Exempts the conversation of a refused request from pruning from now on. Durable when the promise resolves.
   *
   * @throws StoreUnavailable if it is recorded in this process only
   */
  async add(keys: readonly string[]): Promise<void> {
    for (const key of keys) {
      if (this.#hashes.size >= MAX_REMEMBERED) this.#hashes.delete(this.#hashes.values().next().value ?? '');
      this.#hashes.add(key);
    }
    await Promise.all(keys.map((key) => this.#store.markRefused(key)));
  }
}

/** Maximum number of remembered answers from which requests may continue. */
const MAX_ANSWERS = 2_000;
/** Maximum number of calls in all these answers, about 100 bytes each unless they are shared. */
const MAX_ANSWER_NOTES = 200_000;

/**
 * Conversations up to each answer that the provider stores, for requests that continue from it without repeating it.
 */
export class AnsweredConversations {
  readonly #durable: KeptAnswers | undefined;
  readonly #onFailure: FailureReporter;
  readonly #memory = new LRUCache<string, Conversation>({
    maxSize: MAX_ANSWER_NOTES,
    sizeCalculation: (conversation) => Math.max(MAX_ANSWER_NOTES / MAX_ANSWERS, 1 + conversation.size),
  });

  /** @param durable - persists the answers across restarts */
  constructor(durable: KeptAnswers | undefined, onFailure: FailureReporter) {
    this.#durable = durable;
    this.#onFailure = onFailure;
  }

  get(answerId: string): Conversation | undefined {
    return this.#memory.get(answerId);
  }

  /** Records an answer. Available to this process at once, durable when the promise resolves. Never rejects. */
  async add(project: string, before: Conversation, { id, items }: AnswerTurn): Promise<void> {
    const after = before.fork();
    for (const { said, calls } of items) {
      const made = calls.map(({ id: callId, name, args }) => ({ id: callId, call: { name, args } }));
      foldAnswer(after, said, made);
      if (made.some(({ call }) => callWritesMarker(call))) after.wroteMarker();
    }
    // in the same form in which other processes read it
    this.#memory.set(id, after.kept());
    const failed = (cause: unknown): void => this.#onFailure('answer_not_kept', cause);
    await this.#durable?.keep(project, id, after.toText()).catch(failed);
  }

  /**
   * Loads the answer that a request continues from.
   *
   * @returns whether the store has it
   */
  *learn(project: string, answerId: string): Work<boolean> {
    if (answerId === '' || !this.#durable || this.#memory.has(answerId)) return false;
    const found = this.#durable.find(project, answerId).catch((cause: unknown) => {
      this.#onFailure('answer_not_found', cause);
      return null;
    });
    const text = yield* waitFor(found);
    if (text !== null) this.#memory.set(answerId, Conversation.fromText(text));
    return text !== null;
  }
}
