import { BoundedMap } from 'mcp-pruner/base/bounded-map.ts';
import type { FailureReporter } from 'mcp-pruner/base/failures.ts';
import { started, together, type Work, waitFor } from 'mcp-pruner/base/work.ts';
import { type BackgroundWriter, WriteBehind } from 'mcp-pruner/base/write-behind.ts';
import { keyOf } from 'mcp-pruner/core/hash.ts';
import type { Observer, Seen, SeenMessage, SeenRequestHead, SeenResult } from 'mcp-pruner/core/ports/seen.ts';
import type { Directives, DirectivesView, RequestScope } from 'mcp-pruner/core/ports/segments.ts';
import type { Clock } from 'mcp-pruner/core/ports.ts';
import { messageSegmentId } from 'mcp-pruner/core/segments/text-segments.ts';
import { groupBy } from 'mcp-pruner/engine/group-by.ts';
import { type KeptResult, type ResultPlace, storeResults } from './writer.ts';

interface ResultKeeperOptions extends ResultPlace {
  readonly clock: Clock;
  /** Used to skip deleted texts. Absent if nothing can be deleted. */
  readonly directives?: Directives;
  /**
   * Lifetime of originals, in milliseconds. Each result is stored again at most once per eighth of it, to extend its
   * expiry.
   */
  readonly ttlMs: number;
  readonly onFailure: FailureReporter;
  /** Shared write-behind queue. Default: a separate one. */
  readonly behind?: WriteBehind | undefined;
}

/** Maximum number of characters waiting to be stored. Results beyond it are stored with the next request. */
const MAX_WAITING_CHARS = 8 * 1024 * 1024;
/** Maximum number of remembered message ends, from which later requests continue. */
const MAX_ENDS = 4_000;
/** Message ends remembered per request: several, because clients change the last messages. */
const ENDS_OF_REQUEST = 4;
/** Maximum number of results and of characters per transaction. */
const WRITTEN_RESULTS = 16;
const WRITTEN_CHARS = 128 * 1024;
/** Number of characters whose writing takes as long as a row. */
const ROW_CHARS = 640;
const MAX_NAME_CHARS = 500;

/** A result waiting to be stored. */
interface Result extends SeenResult {
  readonly ordinal: number;
  /** Number of preceding results of the same call in the message. */
  readonly part: number;
}

/** Results of one request that are stored together. */
interface Portion {
  readonly request: SeenRequestHead;
  readonly results: Result[];
  chars: number;
}

/**
 * Stores tool results in the background to make them searchable; no request waits for it. A result that cannot be
 * stored now is stored with a later request of its conversation.
 */
export class ResultKeeper implements Observer {
  readonly #options: ResultKeeperOptions;
  /** Message ends whose results are all stored or queued, by a hash of the messages. */
  readonly #ends = new BoundedMap<string, true>(MAX_ENDS);
  #portion: Portion | null = null;
  #waiting: Portion[] = [];
  /** Total characters of queued and in-flight portions. */
  #chars = 0;
  readonly #behind: BackgroundWriter;
  /** Requests with results that were not stored. */
  readonly #incomplete = new WeakSet<SeenRequestHead>();

  constructor(options: ResultKeeperOptions) {
    this.#options = options;
    this.#behind = (options.behind ?? new WriteBehind()).writer(() => started(this.#writeWaiting()));
  }

  newFrom({ scope, prefixes, messages, keepsResults }: SeenRequestHead): number {
    if (!keepsResults) return messages;
    const period = this.#periodOf(scope);
    return 1 + prefixes.findLastIndex((prefix) => prefix !== '' && this.#ends.has(`${period} ${prefix}`));
  }

  see({ request, messages, isLast }: Seen): void {
    if (this.#portion?.request !== request) this.#portion = { request, results: [], chars: 0 };
    for (const message of messages) this.#add(this.#portion, message);
    const { results, chars } = this.#portion;
    if (isLast || results.length >= WRITTEN_RESULTS || chars >= WRITTEN_CHARS) {
      this.#enqueue(this.#portion);
      this.#portion = null;
    }
    if (isLast) this.#remember(request);
  }

  /** Resolves when the results of all requests received so far are stored or have failed. Never rejects. */
  flush(): Promise<void> {
    return this.#behind.flush();
  }

  #add(portion: Portion, { index, results }: SeenMessage): void {
    const parts = new Map<string, number>();
    for (const result of results) {
      const part = parts.get(result.call) ?? 0;
      parts.set(result.call, part + 1);
      portion.results.push({ ordinal: index, part, ...result });
      portion.chars += result.text.length;
    }
  }

  #enqueue(portion: Portion): void {
    const { request, results, chars } = portion;
    if (results.length === 0) return;
    if (this.#chars > 0 && this.#chars + chars > MAX_WAITING_CHARS) {
      this.#forget(request);
      return;
    }
    this.#chars += chars;
    this.#waiting.push(portion);
    this.#behind.soon(Math.ceil(this.#chars / ROW_CHARS));
  }

  /** Writes conversations concurrently, so that the store can commit them together, but each in order. */
  *#writeWaiting(): Work<void> {
    const byConversation = groupBy(this.#waiting, ({ request }) => request.conversationId);
    this.#waiting = [];
    yield* together(Array.from(byConversation.values(), (portions) => this.#writeInOrder(portions)));
  }

  *#writeInOrder(portions: readonly Portion[]): Work<void> {
    for (const portion of portions) yield* this.#writeOne(portion);
  }

  /** Never throws. */
  *#writeOne(portion: Portion): Work<void> {
    try {
      yield* this.#write(portion);
    } catch (cause) {
      this.#forget(portion.request);
      this.#options.onFailure('results_not_kept', cause);
    } finally {
      this.#chars -= portion.chars;
    }
  }

  /** Lets the next request of the conversation continue after these messages. */
  #remember(request: SeenRequestHead): void {
    if (this.#incomplete.has(request)) return;
    for (const end of this.#endsOf(request)) this.#ends.set(end, true);
  }

  /** Makes the next request of the conversation be read from the start. */
  #forget(request: SeenRequestHead): void {
    this.#incomplete.add(request);
    for (const end of this.#endsOf(request)) this.#ends.delete(end);
  }

  #endsOf({ scope, prefixes }: SeenRequestHead): string[] {
    const period = this.#periodOf(scope);
    return prefixes.slice(-ENDS_OF_REQUEST).flatMap((prefix) => (prefix === '' ? [] : `${period} ${prefix}`));
  }

  /**
   * Key of the current period (an eighth of the TTL) and scope. In a new period results are stored again to extend
   * their expiry.
   */
  #periodOf({ project, task }: RequestScope): string {
    const { clock, ttlMs } = this.#options;
    return `${Math.floor(clock.nowMs() / Math.max(1, ttlMs / 8))} ${project} ${task}`;
  }

  *#write({ request: { scope, conversationId, isOwned }, results }: Portion): Work<void> {
    const { directives, clock } = this.#options;
    const { project, task } = scope;
    const view = (directives?.known(project) ?? (yield* waitFor(directives?.view(project)))) || null;
    const kept = results.flatMap((result) => (isDeleted(result, view) ? [] : keptOf(result)));
    if (kept.length === 0) return;
    yield* storeResults(this.#options, {
      ...{ project, task, conversationId, isOwned },
      atMs: Math.trunc(clock.nowMs()),
      results: kept,
    });
  }
}

function keptOf({ text, hash, pruneId, ordinal, tool, path, said, call, part }: Result): KeptResult {
  return {
    ...{ text, hash, pruneId, ordinal },
    tool: tool.slice(0, MAX_NAME_CHARS),
    path: path.slice(0, MAX_NAME_CHARS),
    about: said.slice(0, MAX_NAME_CHARS),
    // a result of several texts must not be superseded by its own second text
    call: call === '' ? '' : keyOf(call, String(part)),
  };
}

function isDeleted({ callId, outerHash, ordinal }: Result, view: DirectivesView | null): boolean {
  if (view === null || view.empty || callId === null) return false;
  return view.of(messageSegmentId('tool', callId, outerHash), ordinal, NO_STEPS) === 'delete';
}

const NO_STEPS: ReadonlySet<string> = new Set();
