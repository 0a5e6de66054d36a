import { LRUCache } from 'lru-cache';
import type { FailureReporter } from '../../base/failures.ts';
import { StoreUnavailable } from '../../errors/errors.ts';
import { JsonShapeError } from '../../wires/json/cursor.ts';
import { textHash } from '../hash.ts';
import type { Ownership } from '../ownership.ts';
import type { ShelfCut, ShelfStore } from '../ports/shelf.ts';
import type { Clock, Store } from '../ports.ts';
import { keptText } from '../recall/kept-text.ts';
import { recordsWholeMessages } from '../request/policy.ts';
import type { BodyEdit } from '../request/prefix-memo.ts';
import type { ReadRequest } from '../request/request.ts';
import { editLiteral } from '../request/splice.ts';
import { HistoryUnknown } from '../sent/history-unknown.ts';
import { type Declaration, declarationHash, declarationsOf, declaredTools } from './declarations.ts';
import { shorten, tailOf } from './shorten.ts';

export interface ToolShelfOptions {
  readonly store: Pick<Store, 'commit'> & { readonly shelf: Pick<ShelfStore, 'updateShelf' | 'begin' | 'cutsOf'> };
  /**
   * Which new conversations of a project get shortened tools: none, only with API keys, or all including subscription
   * logins.
   */
  readonly shortens: (project: string) => 'none' | 'keys' | 'all';
  /** Whether a tool is exempt by name. */
  readonly never: (name: string) => boolean;
  /** Lifetime of originals, in milliseconds. */
  readonly ttlMs: number;
  readonly clock: Clock;
  /** Resolves once the tool usage of finished requests is stored. Never rejects. */
  readonly evidence?: (() => Promise<void>) | undefined;
  /** Present if originals belong to projects. */
  readonly owners?: Ownership;
  readonly onFailure: FailureReporter;
}

/** Cuts in the tools of one request. */
export interface ShelvedTools {
  /** Positions in the received body, ascending. */
  readonly edits: readonly BodyEdit[];
  /** Names of the shortened tools. */
  readonly tools: ReadonlySet<string>;
  /** Estimated tokens, markers subtracted. */
  readonly tokensSaved: number;
}

/** A shortened description, with its edit of the body. */
interface ShortenedText {
  readonly cut: ShelfCut;
  readonly original: string;
  readonly edit: BodyEdit;
}

/** Cached facts about a conversation. */
interface CachedConversation {
  readonly cuts: readonly ShelfCut[];
  /** Time when its originals were last known to be stored. */
  readonly keptMs: number;
}

/** Maximum number of cuts over all cached conversations. A conversation without cuts counts as one. */
const MAX_CUTS = 50_000;
/** With a free history, a first request that is repeated after this time starts a new conversation. */
const SAME_CONVERSATION_MS = 3_600_000;
/** Originals are touched again after this share of their lifetime. */
const KEPT_SHARE = 1 / 8;

/**
 * Shortens descriptions of unused tools. Cuts are decided and recorded before a conversation's first request is
 * forwarded, and repeated in every later request.
 */
export class ToolShelf {
  readonly #options: ToolShelfOptions;
  readonly #conversations = new LRUCache<string, CachedConversation>({
    maxSize: MAX_CUTS,
    sizeCalculation: ({ cuts }) => 1 + cuts.length,
  });

  constructor(options: ToolShelfOptions) {
    this.#options = options;
  }

  /**
   * Looks up how the first request of a conversation was sent.
   *
   * @returns whether its tools were shortened
   * @throws HistoryUnknown if the policy is to wait for the store
   */
  async recall(request: ReadRequest): Promise<boolean> {
    const { read, scope, binding, policy } = request;
    if (read.begins || read.conversationId === '') return false;
    const known = this.#conversations.get(keyOf(request));
    if (known) return known.cuts.length > 0;
    const { store, clock, onFailure } = this.#options;
    const query = { project: scope.project, conversation: conversationOf(request), atMs: nowOf(clock) };
    try {
      const cuts = await store.shelf.cutsOf(query);
      this.#conversations.set(keyOf(request), { cuts: cuts ?? [], keptMs: 0 });
      // a later conversation with the same beginning must not change this one's tools
      if (cuts === null && recordsWholeMessages({ binding, policy })) this.#recordWhole(request);
      return cuts !== null && cuts.length > 0;
    } catch (cause) {
      if (!(cause instanceof StoreUnavailable)) throw cause;
      if (binding !== 'free' && policy.whenHistoryUnknown === 'wait') throw new HistoryUnknown(cause);
      onFailure('tools_unknown', cause);
      return false;
    }
  }

  /**
   * Returns the cuts in a request's tools, or `null`. When the promise resolves, the decision is stored and, if
   * possible, the originals.
   *
   * @throws HistoryUnknown if the policy is to wait and the outcome of the write is unknown
   */
  async run(request: ReadRequest): Promise<ShelvedTools | null> {
    const { read, policy, binding } = request;
    if (read.conversationId === '' || policy.unchanged !== undefined) return null;
    try {
      if (!read.begins)
        return shelvedOf(await this.#apply(request, this.#conversations.get(keyOf(request))?.cuts ?? []));
      const mayShorten = policy.newTexts === 'prune' && this.#shortensFor(request);
      if (mayShorten) return shelvedOf(await this.#applyNew(request));
      return binding !== 'free' ? shelvedOf(await this.#applyStored(request)) : null;
    } catch (cause) {
      if (cause instanceof JsonShapeError) return null;
      if (!(cause instanceof StoreUnavailable)) throw cause;
      const mayBeWritten = cause.reason === 'unreachable' || cause.mayBeDone;
      const waits = binding !== 'free' && policy.whenHistoryUnknown === 'wait';
      if (mayBeWritten && waits) throw new HistoryUnknown(cause);
      this.#options.onFailure('tools_whole', cause);
      this.#conversations.set(keyOf(request), { cuts: [], keptMs: 0 });
      return null;
    }
  }

  /**
   * Records that a new conversation in the control group keeps its tools whole.
   *
   * @returns `false` if a conversation with the same beginning already has shortened tools
   */
  async beginWhole(request: ReadRequest): Promise<boolean> {
    const { store, clock, shortens, onFailure } = this.#options;
    const { scope, read, binding } = request;
    const isFree = binding === 'free';
    if (read.conversationId === '' || (isFree && shortens(scope.project) === 'none')) return true;
    const of = { project: scope.project, conversation: conversationOf(request), atMs: nowOf(clock) };
    try {
      const decisionTtlMs = isFree ? SAME_CONVERSATION_MS : FOR_EVER;
      return (await store.shelf.begin({ ...of, cuts: [], decisionTtlMs })).length === 0;
    } catch (cause) {
      if (!(cause instanceof StoreUnavailable)) throw cause;
      onFailure('tools_not_noted', cause);
      return true;
    }
  }

  /** Like `run`, but only from in-process memory. */
  fromMemory(request: ReadRequest): ShelvedTools | null {
    const { body, dialect, read } = request;
    const cuts = this.#conversations.get(keyOf(request))?.cuts ?? [];
    try {
      return cuts.length === 0
        ? null
        : shelvedOf(foundIn(body, declarationsOf(body, dialect.name, read.scanned.outside), cuts));
    } catch (cause) {
      if (cause instanceof JsonShapeError) return null;
      throw cause;
    }
  }

  /**
   * Decides which tools of a new conversation are shortened, records the decision and applies it.
   *
   * @throws StoreUnavailable
   */
  async #applyNew(request: ReadRequest): Promise<readonly ShortenedText[]> {
    const { store, never, clock, evidence } = this.#options;
    const { body, dialect, binding, scope, read, sender, signal } = request;
    const { declarations, ...about } = declaredTools(body, dialect.name);
    const offered = declarations.flatMap((declaration) => {
      const cuts = never(declaration.name) ? [] : shorten(declaration, about).map(({ cut }) => cut);
      return cuts.length === 0 ? [] : [{ hash: declarationHash(body, declaration), cuts }];
    });
    const isFree = binding === 'free';
    if (offered.length === 0 && isFree) return [];
    const { project } = scope;
    const atMs = nowOf(clock);
    await evidence?.();
    const shelved = await store.shelf.updateShelf({ project, client: sender?.client ?? '', never, atMs });
    const wanted = offered.flatMap(({ hash, cuts }) => (shelved.has(hash) ? cuts : []));
    if (wanted.length === 0 && isFree) return [];
    const refused = await this.#keep(foundIn(body, declarations, wanted), project);
    signal?.throwIfAborted();
    const cuts = await store.shelf.begin({
      project,
      conversation: conversationOf({ dialect, read }),
      cuts: wanted.filter(({ pruneId }) => !refused.has(pruneId)),
      decisionTtlMs: isFree ? SAME_CONVERSATION_MS : FOR_EVER,
      atMs,
    });
    signal?.throwIfAborted();
    const isOurs = cuts.length === wanted.length && refused.size === 0;
    this.#conversations.set(keyOf(request), { cuts, keptMs: isOurs ? atMs : 0 });
    return this.#apply(request, cuts, declarations);
  }

  /**
   * Applies the stored decision to a first request that must not get a new one.
   *
   * @throws StoreUnavailable
   */
  async #applyStored(request: ReadRequest): Promise<readonly ShortenedText[]> {
    const { store, clock } = this.#options;
    const { project } = request.scope;
    const cuts = await store.shelf.cutsOf({ project, conversation: conversationOf(request), atMs: nowOf(clock) });
    if (cuts === null && recordsWholeMessages(request)) this.#recordWhole(request);
    return this.#apply(request, cuts ?? []);
  }

  /** Applies cuts to a request, and periodically checks that the originals are still stored. */
  async #apply(
    request: ReadRequest,
    cuts: readonly ShelfCut[],
    known?: readonly Declaration[],
  ): Promise<readonly ShortenedText[]> {
    if (cuts.length === 0) return [];
    const { clock, ttlMs, onFailure } = this.#options;
    const { body, dialect, scope, read } = request;
    const found = foundIn(body, known ?? declarationsOf(body, dialect.name, read.scanned.outside), cuts);
    const nowMs = nowOf(clock);
    const { keptMs = 0 } = this.#conversations.get(keyOf(request)) ?? {};
    if (nowMs - keptMs < ttlMs * KEPT_SHARE) return found;
    try {
      await this.#keep(found, scope.project);
      this.#conversations.set(keyOf(request), { cuts, keptMs: nowMs });
    } catch (cause) {
      // sent cuts are repeated even if the original cannot be stored
      onFailure('descriptions_not_kept', cause);
    }
    return found;
  }

  /**
   * Stores the originals, or extends their expiry.
   *
   * @returns ids already taken by other texts
   * @throws StoreUnavailable
   */
  async #keep(found: readonly ShortenedText[], project: string): Promise<ReadonlySet<string>> {
    const { store, owners } = this.#options;
    if (found.length === 0) return new Set();
    const ids = found.map(({ cut }) => cut.pruneId);
    const { missing } = await store.commit({ decisions: [], touch: ids }, WAIT_MS);
    const absent = new Set(missing);
    const decisions = found
      .filter(({ cut }) => absent.has(cut.pruneId))
      .map(({ cut, original }) => keptText(original, cut.textHash, ''));
    const refused = new Set<string>();
    if (decisions.length > 0) {
      const done = await store.commit({ decisions, touch: [], ...(owners && { owner: project }) }, WAIT_MS);
      const keys = new Set(done.refused);
      for (const { decision } of decisions)
        if (keys.has(decision.key) && decision.pruneId !== null) refused.add(decision.pruneId);
    }
    await owners?.claim(
      project,
      ids.filter((id) => !refused.has(id)),
    );
    return refused;
  }

  #recordWhole(request: ReadRequest): void {
    const { store, clock, onFailure } = this.#options;
    const of = { project: request.scope.project, conversation: conversationOf(request), atMs: nowOf(clock) };
    void store.shelf
      .begin({ ...of, cuts: [], decisionTtlMs: FOR_EVER })
      .catch((cause: unknown) => onFailure('tools_not_noted', cause));
  }

  #shortensFor({ sender, scope }: Pick<ReadRequest, 'sender' | 'scope'>): boolean {
    const shortens = this.#options.shortens(scope.project);
    return sender !== undefined && (shortens === 'all' || (shortens === 'keys' && !sender.isSubscription));
  }
}

/** Maximum wait for another writer of the store, in milliseconds. */
const WAIT_MS = 1_000;
const FOR_EVER = Number.POSITIVE_INFINITY;

function nowOf(clock: Clock): number {
  return Math.trunc(clock.nowMs());
}

/** Conversation id qualified by wire: conversations on different wires may begin with the same words. */
function conversationOf({ dialect, read }: Pick<ReadRequest, 'dialect' | 'read'>): string {
  return `${dialect.name} ${read.conversationId}`;
}

function keyOf(request: Pick<ReadRequest, 'dialect' | 'read' | 'scope'>): string {
  return `${request.scope.project}\n${conversationOf(request)}`;
}

/** The descriptions to shorten, in body order. */
function foundIn(
  body: Buffer,
  declarations: readonly Declaration[],
  cuts: readonly ShelfCut[],
): readonly ShortenedText[] {
  const byPlace = new Map(cuts.map((cut) => [placeOf(cut.tool, cut.ofTool, cut.textHash), cut]));
  const tools = new Set(cuts.map(({ tool }) => tool));
  const found = declarations.flatMap(({ name, descriptions }) => {
    if (!tools.has(name)) return [];
    return descriptions.flatMap(({ literal, text, ofTool }): ShortenedText[] => {
      const cut = byPlace.get(placeOf(name, ofTool, textHash(text)));
      if (!cut) return [];
      const edit = editLiteral(body, literal, [{ start: cut.chars, end: text.length, text: tailOf(cut) }]);
      return [{ cut, original: text, edit }];
    });
  });
  return found.toSorted((a, b) => a.edit.start - b.edit.start);
}

function placeOf(tool: string, ofTool: boolean, hash: string): string {
  return JSON.stringify([tool, ofTool, hash]);
}

function shelvedOf(found: readonly ShortenedText[]): ShelvedTools | null {
  if (found.length === 0) return null;
  return {
    edits: found.map(({ edit }) => edit),
    tools: new Set(found.map(({ cut }) => cut.tool)),
    tokensSaved: found.reduce((sum, { cut }) => sum + cut.tokensSaved, 0),
  };
}
