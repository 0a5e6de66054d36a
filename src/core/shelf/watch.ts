import { setImmediate as nextTurn } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { FailureReporter } from '../../base/failures.ts';
import { WorkQueue } from '../../base/work-queue.ts';
import { type BackgroundWriter, WriteBehind } from '../../base/write-behind.ts';
import { estimateTokens } from '../../engine/text/tokens.ts';
import type { Dialect, ScannedMessage } from '../../wires/dialects/dialect.ts';
import { JsonShapeError } from '../../wires/json/cursor.ts';
import type { SeenDeclaration, SeenTools, ShelfConversation, ShelfStore, ShelfSums } from '../ports/shelf.ts';
import { outsideMessages, type RewrittenRequest } from '../request/rewritten.ts';
import { declarationHash, declarationsOf, declaredTools } from './declarations.ts';
import { shorten } from './shorten.ts';

export interface ToolWatchOptions {
  readonly store: Pick<ShelfStore, 'record' | 'charge'>;
  /** Whether a tool is exempt by name. */
  readonly never: (name: string) => boolean;
  readonly onFailure: FailureReporter;
  /** Shared write-behind queue. Default: a separate one. */
  readonly behind?: WriteBehind | undefined;
}

/** A request answered with status 2xx. */
export interface AnsweredTools {
  readonly project: string;
  readonly client: string;
  readonly wire: Dialect['name'];
  readonly read: Pick<RewrittenRequest, 'received' | 'messages' | 'outside' | 'shownId' | 'shelved'>;
  /** Number of calls per tool in the answer, by declared name. */
  readonly calls: ReadonlyMap<string, number>;
}

/** A request that was billed. */
export interface BilledTools {
  readonly project: string;
  readonly conversationId: string;
  readonly atMs: number;
  /** Price of one token at the front of the request, in dollars; `null` if unknown. */
  readonly rate: number | null;
  /** Savings on its bill by shortening, in the provider's tokens and in dollars. */
  readonly saved: ShelfSums;
}

/** Limit for bytes of queued requests; further requests are not counted. */
const MAX_WAITING_BYTES = 32 * 1024 * 1024;
const NO_TOOLS: ReadonlySet<string> = new Set();
/** Maximum number of tools over all remembered conversations; a tool takes 8 bytes, a conversation about 200. */
const MAX_REMEMBERED_TOOLS = 500_000;
const MAX_REMEMBERED_CHARS = 2_000_000;
/** Maximum number of queued requests, and of queued bills; further ones are not counted. */
const MAX_WAITING = 500;
const CONVERSATION_SIZE = 25;
const MAX_NAME_CHARS = 200;
const MAX_TOOLS = 2_000;
const CONTROL = /\p{Cc}/u;
/** Matches a request that only warms a cache or requests a single token; it does not start a conversation. */
const SIDE = /"(?:generate"\s*:\s*false|max_(?:completion_|output_)?tokens"\s*:\s*1\s*[,}])/;

/** Calls in the leading messages of a conversation. */
interface CountedCalls {
  readonly messages: number;
  readonly last: ScannedMessage;
  readonly counts: ReadonlyMap<string, number>;
}

/** Records which tools conversations declare and call, and what unused tools cost. No request waits for it. */
export class ToolWatch {
  readonly #options: ToolWatchOptions;
  readonly #known = new LRUCache<string, ShelfConversation>({
    maxSize: MAX_REMEMBERED_TOOLS,
    sizeCalculation: ({ tools }) => CONVERSATION_SIZE + tools.length,
  });
  readonly #queue: WorkQueue;
  /** Last recorded calls per conversation. */
  readonly #calls = new LRUCache<string, string>({
    maxSize: MAX_REMEMBERED_CHARS,
    sizeCalculation: (calls) => CONVERSATION_SIZE + calls.length,
  });
  /** Counted calls per conversation; messages that are already known are the same objects. */
  readonly #counted = new LRUCache<string, CountedCalls>({
    maxSize: MAX_REMEMBERED_TOOLS,
    sizeCalculation: ({ counts }) => CONVERSATION_SIZE + counts.size,
  });
  /** Records not yet written. */
  #seen: SeenTools[] = [];
  #billed: BilledTools[] = [];
  readonly #behind: BackgroundWriter;

  constructor(options: ToolWatchOptions) {
    const { onFailure } = options;
    this.#options = options;
    this.#queue = new WorkQueue({ maxBytes: MAX_WAITING_BYTES, onFailure, reason: 'tools_not_noted' });
    this.#behind = (options.behind ?? new WriteBehind()).writer(() => this.#write());
  }

  /** Records a request that was answered at `atMs`. Never throws or blocks. */
  record(request: AnsweredTools, atMs: number): void {
    const { shownId, received } = request.read;
    if (shownId !== '') this.#queue.add(received.length, () => this.#look(request, Math.trunc(atMs)));
  }

  /** Records the bill of a request that was recorded before. Never throws or blocks. */
  billed(request: BilledTools): void {
    if (this.#billed.length >= MAX_WAITING) return;
    this.#billed.push(request);
    this.#behind.soon();
  }

  /** Resolves when everything queued so far has been written or has failed. Never rejects. */
  async flush(): Promise<void> {
    await this.#queue.flush();
    await this.#behind.flush();
  }

  async #look({ project, client, wire, read, calls: ofAnswer }: AnsweredTools, atMs: number): Promise<void> {
    await nextTurn();
    const { never } = this.#options;
    const { shownId: conversation, messages, received, shelved } = read;
    const key = keyOf(project, conversation);
    const known = this.#known.get(key);
    if (!known && outsideMessages(read).some((part) => SIDE.test(part.toString('latin1')))) return;
    const calls = this.#callsOf(key, messages, ofAnswer);
    if (known && calls.size === 0) return;
    const called = JSON.stringify([...calls]);
    if (known && this.#calls.get(key) === called) return;
    const declares = !known && declarationsOf(received, wire, read.outside).length > 0; // skips the messages
    const declarations = declares ? declarationsIn(received, wire) : [];
    if (!known && declarations.length === 0) return;
    const isFirst = messages.every(({ role }) => role !== 'assistant');
    const shortened = { shortened: shelved?.tools ?? NO_TOOLS, tokensSaved: shelved?.tokensSaved ?? 0 };
    if (this.#seen.length >= MAX_WAITING) return;
    this.#seen.push({
      project,
      client,
      conversation,
      isFirst,
      declarations,
      calls,
      ...shortened,
      never,
      atMs,
    });
    this.#calls.set(key, called);
    this.#behind.soon();
  }

  /** Number of calls per tool: in the messages, of which only new ones are counted, and in the answer. */
  #callsOf(
    key: string,
    messages: readonly ScannedMessage[],
    ofAnswer: ReadonlyMap<string, number>,
  ): ReadonlyMap<string, number> {
    const before = this.#counted.get(key);
    const isSame = before !== undefined && messages[before.messages - 1] === before.last;
    const counts = new Map(isSame ? before.counts : []);
    const from = isSame ? before.messages : 0;
    for (let i = from; i < messages.length; i++)
      for (const { name } of messages[i]?.calls ?? []) if (isName(name)) counts.set(name, (counts.get(name) ?? 0) + 1);
    const last = messages.at(-1);
    if (last) this.#counted.set(key, { messages: messages.length, last, counts });
    if (ofAnswer.size === 0) return counts;
    const all = new Map(counts);
    for (const [name, count] of ofAnswer) if (isName(name)) all.set(name, (all.get(name) ?? 0) + count);
    return all;
  }

  /** Writes everything at once, so that the store commits it together. Bills of new conversations follow. */
  async #write(): Promise<void> {
    const [seen, billed] = [this.#seen, this.#billed];
    [this.#seen, this.#billed] = [[], []];
    const isKnown = ({ project, conversationId }: BilledTools): boolean =>
      this.#known.has(keyOf(project, conversationId));
    const [known, others] = [billed.filter(isKnown), billed.filter((one) => !isKnown(one))];
    await Promise.all([...seen.map((one) => this.#record(one)), ...known.map((one) => this.#charge(one))]);
    await Promise.all(others.map((one) => this.#charge(one)));
  }

  async #record(seen: SeenTools): Promise<void> {
    const key = keyOf(seen.project, seen.conversation);
    try {
      this.#known.set(key, await this.#options.store.record(seen));
    } catch (cause) {
      this.#calls.delete(key); // retried with the next request
      this.#options.onFailure('tools_not_noted', cause);
    }
  }

  async #charge({ project, conversationId, atMs, rate, saved }: BilledTools): Promise<void> {
    const known = this.#known.get(keyOf(project, conversationId));
    if (!known) return;
    const day = new Date(atMs).toISOString().slice(0, 10);
    try {
      await this.#options.store.charge({ project, day, ...known, saved, rate: rate ?? 0 });
    } catch (cause) {
      this.#options.onFailure('tools_not_noted', cause);
    }
  }
}

/** The tools declared in a body; none if the body is not understood. */
export function declarationsIn(body: Buffer, wire: Dialect['name']): readonly SeenDeclaration[] {
  try {
    const declared = declaredTools(body, wire);
    const named = declared.declarations.filter(({ name }) => isName(name)).slice(0, MAX_TOOLS);
    return named.map((declaration) => {
      const { name, kind, span } = declaration;
      const saves = shorten(declaration, declared).reduce((sum, { cut }) => sum + cut.tokensSaved, 0);
      const tokens = estimateTokens(body.toString('utf8', span.start, span.end));
      return { hash: declarationHash(body, declaration), name, kind, tokens, saves };
    });
  } catch (cause) {
    if (cause instanceof JsonShapeError) return [];
    throw cause;
  }
}

function isName(name: string): boolean {
  return name !== '' && name.length <= MAX_NAME_CHARS && !CONTROL.test(name);
}

function keyOf(project: string, conversation: string): string {
  return `${project}\n${conversation}`;
}
