import { setImmediate as nextTurn } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { NotedSegment, SeenRequest, SeenSegment, SegmentBatch, SegmentStore } from '../core/ports/segments.ts';
import type { Clock } from '../core/ports.ts';
import type { FailureReporter } from '../failures.ts';
import { WriteBehind } from '../write-behind.ts';
import { factsOf } from './facts.ts';

export interface RecorderOptions {
  readonly store: SegmentStore;
  readonly clock: Clock;
  /** The prune id under which a segment is stashed. */
  readonly stashId: (project: string, segmentId: string) => string;
  /** Told when what was seen could not be written; nothing but the analysis suffers. */
  readonly onFailure: FailureReporter;
}

/** Segments that wait to be written; past it the oldest requests are forgotten. */
const MAX_WAITING = 20_000;
/** Segments that one transaction writes. */
const PORTION = 100;
/** Segments that are known to be written, over all conversations. */
const MAX_KNOWN = 100_000;

/** What a conversation showed last: its segments with their size, which tells whether they changed. */
type Shown = ReadonlyMap<string, string>;

/** Notes segments behind the requests' backs: a segment that did not change costs nothing but a look. */
export class Recorder {
  readonly #options: RecorderOptions;
  readonly #shown = new LRUCache<string, Shown>({
    maxSize: MAX_KNOWN,
    sizeCalculation: (shown) => shown.size + 1,
  });
  #batches: SegmentBatch[] = [];
  #waiting = 0;
  /** Resolves when all that was shown is noted. */
  #reading: Promise<void> = Promise.resolve();
  readonly #behind = new WriteBehind(() => this.#write());

  constructor(options: RecorderOptions) {
    this.#options = options;
  }

  /** Takes what a request will have shown; what is never read is not noted. Never waits. */
  noteOnceRead(request: Promise<SeenRequest>): void {
    const before = this.#reading;
    this.#reading = request.then(
      (seen) => before.then(() => this.note(seen)),
      () => before,
    );
  }

  /** Takes what a request showed. Never waits; texts are not held on to. */
  note(request: SeenRequest): void {
    const key = conversationKey(request);
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

  /** Writes what was shown so far. Never rejects. */
  async flush(): Promise<void> {
    await this.#reading;
    await this.#behind.flush();
  }

  #queue(request: SeenRequest, whole: boolean, changed: readonly SeenSegment[]): void {
    const last = this.#batches.at(-1);
    const atMs = this.#options.clock.nowMs();
    const { project, task, conversationId, messages } = request;
    const segments = changed.map((segment) => this.#noted(project, segment));
    if (last && segments.length === 0 && !whole && conversationKey(last) === conversationKey(request)) {
      this.#batches[this.#batches.length - 1] = { ...last, atMs, messages, task, turns: last.turns + 1 };
      return;
    }
    this.#batches.push({ project, task, conversationId, messages, whole, segments, atMs, turns: 1 });
    this.#waiting += segments.length + 1;
    while (this.#waiting > MAX_WAITING) this.#forget(this.#batches.shift());
  }

  #noted(project: string, segment: SeenSegment): NotedSegment {
    const { directed, pruneIds, id } = segment;
    const erase = directed === 'delete' ? [...pruneIds, this.#options.stashId(project, id)] : [];
    return { pruneIds, erase, ...factsOf(segment) };
  }

  /** What is not written must be taken down anew when the conversation is seen next. */
  #forget(batch: SegmentBatch | undefined): void {
    if (!batch) return;
    this.#waiting -= batch.segments.length + 1;
    this.#shown.delete(conversationKey(batch));
  }

  async #write(): Promise<void> {
    const batches = this.#batches;
    this.#batches = [];
    this.#waiting = 0;
    for (const some of portions(batches)) {
      try {
        await this.#options.store.note(some);
      } catch (cause) {
        for (const batch of some) this.#shown.delete(conversationKey(batch));
        this.#options.onFailure('segments_not_noted', cause);
      }
      await nextTurn();
    }
  }
}

/** Batches for one transaction each, none of which holds up a request for long. */
function* portions(batches: readonly SegmentBatch[]): Generator<readonly SegmentBatch[]> {
  let portion: SegmentBatch[] = [];
  let size = 0;
  for (const batch of batches) {
    for (let from = 0; from === 0 || from < batch.segments.length; from += PORTION) {
      const segments = batch.segments.slice(from, from + PORTION);
      // the rest of a request is no further request, and must not seem to leave out what came before
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

/** Clients ask for a title or a summary with the same first words: that is no sign that the rest was dropped. */
function isPartOf(now: Shown, shown: Shown): boolean {
  return now.size < shown.size && [...now.keys()].every((id) => shown.has(id));
}

function conversationKey({ project, conversationId }: Pick<SeenRequest, 'project' | 'conversationId'>): string {
  return `${conversationId} ${project}`;
}

/** A segment is written again when this changes. */
function signatureOf({ tokens, ordinal, directed, pruneIds }: SeenSegment): string {
  return `${ordinal} ${tokens} ${directed === 'delete' ? 'x' : ''} ${pruneIds.join(' ')}`;
}
