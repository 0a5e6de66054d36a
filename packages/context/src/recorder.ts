import { setImmediate as nextTurn } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { FailureReporter } from 'mcp-pruner/base/failures.ts';
import { fittedToHeap } from 'mcp-pruner/base/fitted-to-heap.ts';
import { type BackgroundWriter, WriteBehind } from 'mcp-pruner/base/write-behind.ts';
import type {
  NotedSegment,
  SeenRequest,
  SeenSegment,
  SegmentBatch,
  SegmentFacts,
  SegmentStore,
} from 'mcp-pruner/core/ports/segments.ts';
import type { Clock } from 'mcp-pruner/core/ports.ts';
import { stashId } from 'mcp-pruner/core/segments/text-segments.ts';
import { addDeclared, addMentions, callIdKey, callKey, conversationKey, KeySet, pathKey, pathKeys } from './keys.ts';

interface RecorderOptions {
  readonly store: SegmentStore;
  readonly clock: Clock;
  /** Whether to store the user's first words. Default: false. */
  readonly keepsOpenings?: boolean;
  /** Called if observations could not be written; only the analysis suffers. */
  readonly onFailure: FailureReporter;
  /** Shared write-behind queue. Default: a separate one. */
  readonly behind?: WriteBehind | undefined;
}

/** A segment of a request without its text. */
export interface ReadSegment extends SegmentFacts, Pick<SeenSegment, 'directed' | 'pruneIds'> {}

/** `SeenRequest` without texts. */
export interface ReadSegments extends Omit<SeenRequest, 'segments'> {
  readonly segments: readonly ReadSegment[];
}

/** Maximum number of segments waiting to be written; beyond it, the oldest requests are dropped. */
const MAX_WAITING = 20_000;
/** Number of segments written per transaction. */
const PORTION = 100;
/** Maximum number of segments remembered as written, over all conversations. */
const MAX_KNOWN = fittedToHeap(100_000);

/** Last observed segments of a conversation, with a signature that reveals changes. */
type Shown = ReadonlyMap<string, string>;

/** Records segments in the background. An unchanged segment costs only a comparison. */
export class Recorder {
  readonly #options: RecorderOptions;
  readonly #shown = new LRUCache<string, Shown>({
    maxSize: MAX_KNOWN,
    sizeCalculation: (shown) => shown.size + 1,
  });
  #batches: SegmentBatch[] = [];
  #waiting = 0;
  readonly #behind: BackgroundWriter;

  constructor(options: RecorderOptions) {
    this.#options = options;
    this.#behind = (options.behind ?? new WriteBehind()).writer(() => this.#write());
  }

  /** Records an observed request. Returns at once. */
  note(request: ReadSegments): void {
    const key = keyOf(request);
    const shown = this.#shown.get(key);
    const now = new Map(request.segments.map((segment) => [segment.id, signatureOf(segment)]));
    if (request.whole && shown && isPartOf(now, shown)) return;
    const left = request.whole && (shown === undefined || [...shown.keys()].some((id) => !now.has(id)));
    const changed = left
      ? request.segments
      : request.segments.filter((segment) => shown?.get(segment.id) !== now.get(segment.id));
    this.#queue(request, left, changed);
    if (request.whole) this.#shown.set(key, now);
    else if (shown) this.#shown.set(key, new Map([...shown, ...now]));
    this.#behind.soon();
  }

  /** Writes everything observed so far. Never rejects. */
  flush(): Promise<void> {
    return this.#behind.flush();
  }

  #queue(request: ReadSegments, whole: boolean, changed: readonly ReadSegment[]): void {
    const last = this.#batches.at(-1);
    const atMs = this.#options.clock.nowMs();
    const { project, task, client, conversationId, messages } = request;
    const opening = this.#options.keepsOpenings ? request.opening : '';
    const segments = changed.map((segment) => this.#noted(project, segment));
    if (last && segments.length === 0 && !whole && keyOf(last) === keyOf(request)) {
      this.#batches[this.#batches.length - 1] = { ...last, atMs, messages, task, turns: last.turns + 1 };
      return;
    }
    this.#batches.push({ project, task, client, conversationId, messages, whole, segments, atMs, turns: 1, opening });
    this.#waiting += segments.length + 1;
    while (this.#waiting > MAX_WAITING) this.#forget(this.#batches.shift());
  }

  #noted(project: string, { directed, ...segment }: ReadSegment): NotedSegment {
    const { pruneIds, id } = segment;
    const erase = directed === 'delete' ? [...pruneIds, stashId(project, id)] : [];
    return { ...segment, erase };
  }

  /** Drops the memory of unwritten segments, so that they are recorded again when next observed. */
  #forget(batch: SegmentBatch | undefined): void {
    if (!batch) return;
    this.#waiting -= batch.segments.length + 1;
    this.#shown.delete(keyOf(batch));
  }

  async #write(): Promise<void> {
    const batches = this.#batches;
    this.#batches = [];
    this.#waiting = 0;
    let isFirst = true;
    for (const some of portions(batches)) {
      if (!isFirst) await nextTurn();
      isFirst = false;
      try {
        await this.#options.store.note(some);
      } catch (cause) {
        for (const batch of some) this.#shown.delete(keyOf(batch));
        this.#options.onFailure('segments_not_noted', cause);
      }
    }
  }
}

/** Splits batches into one transaction each, small enough not to delay requests. */
function* portions(batches: readonly SegmentBatch[]): Generator<readonly SegmentBatch[]> {
  let portion: SegmentBatch[] = [];
  let size = 0;
  for (const batch of batches) {
    for (let from = 0; from === 0 || from < batch.segments.length; from += PORTION) {
      const segments = batch.segments.slice(from, from + PORTION);
      // further portions must not count as further requests, nor look as if earlier segments were dropped
      portion.push({ ...batch, segments, ...(from > 0 && { whole: false, turns: 0 }) });
      size += segments.length + 1;
      if (size < PORTION) continue;
      yield portion;
      portion = [];
      size = 0;
    }
  }
  if (portion.length > 0) yield portion;
}

/** Whether a request shows only part of the conversation, as a client's request for a title does. */
function isPartOf(now: Shown, shown: Shown): boolean {
  return now.size < shown.size && [...now.keys()].every((id) => shown.has(id));
}

function keyOf({ project, conversationId }: Pick<SeenRequest, 'project' | 'conversationId'>): string {
  return conversationKey(project, conversationId);
}

/** Signature of a segment; a segment is written again when it changes. */
function signatureOf({ tokens, ordinal, directed, pruneIds }: ReadSegment): string {
  return `${ordinal} ${tokens} ${directed === 'delete' ? 'x' : ''} ${pruneIds.join(' ')}`;
}

/** Converts a segment to its form without text. */
export function readSegment(seen: SeenSegment): ReadSegment {
  return { ...factsOf(seen), directed: seen.directed, pruneIds: seen.pruneIds };
}

const MOST_ABOUT = 40;
const MOST_MENTIONS = 64;
const MOST_EDITED = 40;
/** Maximum number of scanned characters per text. */
const MESSAGE_CHARS = 16_384;
const CODE_CHARS = 65_536;

/**
 * Extracts the stored facts of a segment, without its text. References are taken from user and assistant words and from
 * call arguments, never from results.
 */
export function factsOf(seen: SeenSegment): SegmentFacts {
  const { id, ordinal, role, type, effect, tokens, lines, tool, path, startLine, endLine } = seen;
  const about = new KeySet(MOST_ABOUT);
  if (path !== '') about.add(...pathKeys(path));
  if (seen.callId !== '') about.add(callIdKey(seen.callId));
  if (role === 'tool') addMentions(seen.wanted, about, MESSAGE_CHARS);
  if (effect === 'read' || effect === 'attached') addDeclared(seen.text, about, CODE_CHARS);
  const mentions = new KeySet(MOST_MENTIONS);
  addMentions(role === 'tool' ? seen.wanted : effect === 'attached' ? '' : seen.text, mentions, MESSAGE_CHARS);
  const edited = new KeySet(MOST_EDITED);
  for (const file of seen.edited) {
    edited.add(pathKey(file));
    mentions.add(...pathKeys(file));
  }
  return {
    id,
    ordinal,
    role,
    type,
    effect,
    tokens,
    lines,
    tool,
    path,
    startLine,
    endLine,
    callKey: callKey(seen.callKey),
    about: about.toArray(),
    mentions: mentions.toArray(),
    edited: edited.toArray(),
  };
}
