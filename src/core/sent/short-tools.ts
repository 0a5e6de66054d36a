import type { FailureReporter } from '../../base/failures.ts';
import { run, type Work, waitFor } from '../../base/work.ts';
import { formatMarker } from '../../engine/text/marker.ts';
import { storeFailure } from '../../errors/errors.ts';
import { JsonShapeError } from '../../wires/json/cursor.ts';
import { textHash } from '../hash.ts';
import { keptText } from '../kept-text.ts';
import type { Ownership } from '../ownership.ts';
import type { ShortConversation, ShortenedTool } from '../ports/short-tools.ts';
import type { Clock, Store } from '../ports.ts';
import type { BodyEdit } from '../request/prefix-memo.ts';
import type { ReadRequest } from '../request/request.ts';
import { editLiteral } from '../request/splice.ts';
import { describedTools } from './described-tools.ts';
import { HistoryUnknown } from './history-unknown.ts';

interface ShortToolsOptions {
  /** Reads all recorded conversations, newest first. May reject with `StoreUnavailable`. */
  readonly load: () => Promise<readonly ShortConversation[]>;
  /** Records that a conversation goes on. May reject with `StoreUnavailable`. */
  readonly seen: (conversation: ShortConversation, atMs: number) => Promise<void>;
  readonly store: Pick<Store, 'commit'>;
  readonly clock: Clock;
  /** Lifetime of originals, in milliseconds. */
  readonly ttlMs: number;
  /** Present if originals belong to projects. */
  readonly owners?: Ownership | undefined;
  readonly onFailure: FailureReporter;
}

/** A shortened description, with its edit of the body. */
interface FoundDescription {
  readonly cut: ShortenedTool;
  readonly original: string;
  readonly edit: BodyEdit;
}

/** Originals are touched again after this share of their lifetime. */
const KEPT_SHARE = 1 / 8;
/** Maximum wait for another writer of the store, in milliseconds. */
const WAIT_MS = 1_000;

/**
 * Repeats the shortened tool descriptions of conversations that an earlier version began so, because the provider's cache
 * starts with them. No other conversation is changed.
 */
export class ShortTools {
  readonly #options: ShortToolsOptions;
  #known: ReadonlyMap<string, readonly ShortConversation[]> | null = null;
  #loading: Promise<void> | null = null;
  readonly #keptMs = new Map<ShortConversation, number>();

  constructor(options: ShortToolsOptions) {
    this.#options = options;
  }

  /**
   * Reads the records once; immediate afterwards.
   *
   * @throws HistoryUnknown if the policy is to wait for the store, unless the request begins a conversation
   */
  *ready({ binding, policy, read }: Pick<ReadRequest, 'binding' | 'policy' | 'read'>): Work<void> {
    if (this.#known !== null) return;
    try {
      yield* waitFor(this.load());
    } catch (cause) {
      storeFailure(cause);
      if (binding !== 'free' && policy.whenHistoryUnknown === 'wait' && !read.begins) throw new HistoryUnknown(cause);
      this.#options.onFailure('tools_unknown', cause);
    }
  }

  /** @throws StoreUnavailable */
  load(): Promise<void> {
    this.#loading ??= this.#read().finally(() => {
      if (this.#known === null) this.#loading = null;
    });
    return this.#loading;
  }

  async #read(): Promise<void> {
    const known = new Map<string, ShortConversation[]>();
    for (const one of await this.#options.load())
      known.set(one.conversation, [...(known.get(one.conversation) ?? []), one]);
    this.#known = known;
  }

  /** Whether certainly no conversation has shortened tools. */
  get isEmpty(): boolean {
    return this.#known?.size === 0;
  }

  /** Whether the tools of a request's conversation were shortened. */
  has(request: ReadRequest): boolean {
    return this.#of(request) !== undefined;
  }

  /** The edits of a request's tools, in body order. */
  editsOf(request: ReadRequest): readonly BodyEdit[] {
    const conversation = this.#of(request);
    if (!conversation || request.policy.unchanged !== undefined) return [];
    try {
      const found = foundIn(request, conversation.cuts);
      void this.#keep(conversation, found, request.scope.project);
      return found.map(({ edit }) => edit);
    } catch (cause) {
      if (cause instanceof JsonShapeError) return [];
      throw cause;
    }
  }

  /** A conversation that moved to another project keeps its cuts. */
  #of({ dialect, read, scope }: ReadRequest): ShortConversation | undefined {
    if (!this.#known?.size || read.conversationId === '') return undefined;
    const alike = this.#known.get(`${dialect.name} ${read.conversationId}`);
    return alike?.find(({ project }) => project === scope.project) ?? alike?.[0];
  }

  /** Keeps the record and the originals as long as the conversation is used. Never rejects. */
  async #keep(conversation: ShortConversation, found: readonly FoundDescription[], project: string): Promise<void> {
    const { store, clock, ttlMs, owners, seen, onFailure } = this.#options;
    const nowMs = Math.trunc(clock.nowMs());
    if (nowMs - (this.#keptMs.get(conversation) ?? 0) < ttlMs * KEPT_SHARE) return;
    this.#keptMs.set(conversation, nowMs);
    try {
      await seen(conversation, nowMs);
      const ids = found.map(({ cut }) => cut.pruneId);
      const missing = new Set((await store.commit({ decisions: [], touch: ids }, WAIT_MS)).missing);
      const lost = found.filter(({ cut }) => missing.has(cut.pruneId));
      const decisions = lost.map(({ cut, original }) => keptText(original, cut.textHash, ''));
      if (decisions.length > 0)
        await store.commit({ decisions, touch: [], ...(owners && { owner: project }) }, WAIT_MS);
      if (owners) await run(owners.claim(project, ids));
    } catch (cause) {
      onFailure('descriptions_not_kept', cause);
    }
  }
}

/** The descriptions to shorten, in body order. @throws JsonShapeError */
function foundIn({ body, dialect, read }: ReadRequest, cuts: readonly ShortenedTool[]): readonly FoundDescription[] {
  const byPlace = new Map(cuts.map((cut) => [placeOf(cut), cut]));
  return describedTools(body, dialect.name, read.scanned.outside)
    .flatMap(({ tool, ofTool, literal, text }): FoundDescription[] => {
      const cut = byPlace.get(placeOf({ tool, ofTool, textHash: textHash(text) }));
      if (!cut) return [];
      const tail = `\n${formatMarker(cut)}`;
      return [
        { cut, original: text, edit: editLiteral(body, literal, [{ start: cut.chars, end: text.length, text: tail }]) },
      ];
    })
    .toSorted((a, b) => a.edit.start - b.edit.start);
}

function placeOf({ tool, ofTool, textHash: hash }: Pick<ShortenedTool, 'tool' | 'ofTool' | 'textHash'>): string {
  return JSON.stringify([tool, ofTool, hash]);
}
