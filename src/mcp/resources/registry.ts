import { untilCalled } from '../../base/write-behind.ts';
import type { Records } from '../../core/ports/records.ts';
import type { Store, StoredPrune } from '../../core/ports.ts';
import { annotate } from '../../engine/text/render.ts';
import { PrunerError } from '../../errors/errors.ts';
import { annotationToWire } from '../tools/prune-text.ts';
import { childLogEntry, type ResourceChildLogEntry, type ResourceRunEvent, runEvent } from './events.ts';
import { formatUri, idPrefix, type OfferedKind, parseUri, type ResourceKind, type ResourceName } from './uri.ts';

export interface ResourceItem {
  readonly uri: string;
  readonly kind: ResourceKind;
  readonly metadata: Readonly<Record<string, unknown>>;
}

interface ResourceContent {
  readonly uri: string;
  readonly kind: ResourceKind;
  readonly payload: object;
}

interface WatchQuery {
  readonly uri: string;
  readonly fromSeq: number;
  readonly limit: number;
  /** Maximum wait for the first entry, in milliseconds. */
  readonly waitMs: number;
  readonly signal: AbortSignal;
}

type Entry = ResourceRunEvent | ResourceChildLogEntry;

export interface Watched {
  readonly uri: string;
  readonly kind: ResourceKind;
  readonly events: readonly Entry[];
  /** Next sequence number: after the last event, or the start if there is none. */
  readonly nextSeq: number;
}

interface ResourcesOptions {
  readonly store: Pick<Store, 'events' | 'findPrune' | 'findOriginal'>;
  readonly records: Records;
  /** Writes pending entries of this process to make them visible to readers. */
  readonly flush: () => Promise<void>;
  /** Options that enable the parts with further kinds of resources. */
  readonly startedBy: readonly string[];
  /** Calls the listener after this process has written events. The returned function unsubscribes. */
  readonly onWritten: (listener: () => void) => () => void;
}

/** Resources of an optional part, listed and read together with these; they cannot be watched. */
interface PartResources {
  list(limit: number, uriPrefix: string): Promise<readonly (ResourceItem & { readonly atMs: number })[]>;
  read(
    kind: 'graph' | 'graph_version' | 'snapshot' | 'blackboard_namespace',
    id: string,
    part: string | null,
  ): Promise<object | 'expired' | null>;
}

/** Maximum number of events returned by one read of a run: the newest ones. `resources_watch` returns all. */
const MAX_READ = 10_000;
/** Poll interval for entries of other processes. */
const POLL_MS = 250;

interface ResourceTarget {
  readonly kind: OfferedKind;
  readonly id: string;
}

/** The `sc://` resources: events of runs, originals of prune ids, logs of agents. */
export class Resources {
  readonly #options: ResourcesOptions;
  #part: PartResources | null = null;

  constructor(options: ResourcesOptions) {
    this.#options = options;
  }

  extend(part: PartResources): void {
    this.#part = part;
  }

  /**
   * Resources whose URI has a prefix, newest first.
   *
   * @throws PrunerError `store_unavailable`
   */
  async list(prefix: string, limit: number): Promise<ResourceItem[]> {
    await this.#options.flush();
    const { records } = this.#options;
    const runs = await this.#listed('run_events', prefix, async (ids) =>
      (await records.runs({ prefix: ids, limit })).map(({ runId, firstSeq, lastSeq, lastMs }) => ({
        id: runId,
        atMs: lastMs,
        metadata: { runId, firstSeq, lastSeq, lastTs: lastMs },
      })),
    );
    const prunes = await this.#listed('snapshot', prefix, async (ids) =>
      (await records.prunes({ prefix: ids, limit })).map(({ pruneId, createdMs, expiresMs, ...facts }) => ({
        id: pruneId,
        atMs: createdMs,
        metadata: { pruneId, ...facts, createdAt: createdMs, expiresAt: expiresMs },
      })),
    );
    const children = await this.#listed('child_logs', prefix, async (ids) =>
      (await records.children({ prefix: ids, limit })).map(({ childId, lastSeq, lastMs }) => ({
        id: childId,
        atMs: lastMs,
        metadata: { childId, lastSeq, lastTs: lastMs },
      })),
    );
    const ofPart = ((await this.#part?.list(limit, prefix)) ?? []).map(({ atMs, ...item }) => ({
      item,
      atMs,
    }));
    return [...runs, ...prunes, ...children, ...ofPart]
      .filter(({ item }) => item.uri.startsWith(prefix))
      .sort((a, b) => b.atMs - a.atMs)
      .slice(0, limit)
      .map(({ item }) => item);
  }

  /** @throws PrunerError `resource_not_found`, `resource_expired`, `resource_wrong_kind`, `store_unavailable` */
  async read(uri: string): Promise<ResourceContent> {
    const name = parseUri(uri);
    if (name !== null && isOfPart(name) && this.#part !== null) return this.#readOfPart(uri, name, this.#part);
    const found = find(uri, this.#options);
    const { kind, id } = found;
    if (kind === 'snapshot') return { uri, kind, payload: await this.#snapshot(uri, id) };
    const last = await this.#lastSeq(found);
    if (last === 0) throw unknown(uri);
    if (kind === 'run_events') return { uri, kind, payload: { runId: id, events: await this.#newest(found) } };
    return { uri, kind, payload: { childId: id, logs: await this.#newest(found) } };
  }

  /**
   * The entries of a run or an agent from a sequence number on, ascending.
   *
   * @throws PrunerError like `read`; snapshots never change and are `resource_wrong_kind`
   */
  async watch({ uri, fromSeq, limit, waitMs, signal }: WatchQuery): Promise<Watched> {
    const found = watchable(uri, this.#options);
    if ((await this.#lastSeq(found)) === 0) throw unknown(uri);
    const events = await this.#poll(() => this.#entries(found, fromSeq, limit), waitMs, signal);
    const nextSeq = (events.at(-1)?.seq ?? fromSeq - 1) + 1;
    return { uri, kind: found.kind, events, nextSeq };
  }

  /**
   * Sequence number of the last event of a run or an agent.
   *
   * @throws PrunerError like `watch`
   */
  async lastSeq(uri: string): Promise<number> {
    const last = await this.#lastSeq(watchable(uri, this.#options));
    if (last === 0) throw unknown(uri);
    return last;
  }

  /** Events of all runs, like `watch`. */
  async watchAll(
    { fromSeq, limit, waitMs, signal }: Omit<WatchQuery, 'uri'>,
    wanted: (event: ResourceRunEvent) => boolean,
  ) {
    let nextSeq = fromSeq;
    const readNew = async (): Promise<ResourceRunEvent[]> => {
      for (;;) {
        const seen = (await this.#options.store.events({ fromSeq: nextSeq, limit })).map(runEvent);
        nextSeq = (seen.at(-1)?.seq ?? nextSeq - 1) + 1;
        const found = seen.filter(wanted);
        if (found.length > 0 || seen.length < limit) return found;
      }
    };
    const events = await this.#poll(readNew, waitMs, signal);
    return { events, nextSeq };
  }

  async #readOfPart(uri: string, { kind, id, part: section }: PartName, part: PartResources) {
    const payload = await part.read(kind, id, section ?? null);
    if (payload === 'expired')
      throw new PrunerError('resource_expired', { uri, hint: 'This version is no longer kept.' });
    if (payload === null) throw unknown(uri);
    return { uri, kind, payload };
  }

  /** Polls until there is an entry, the time is over or the caller has gone. */
  async #poll<T>(readNew: () => Promise<readonly T[]>, waitMs: number, signal: AbortSignal): Promise<readonly T[]> {
    await this.#options.flush();
    const endMs = performance.now() + waitMs;
    for (;;) {
      const found = await readNew();
      const leftMs = endMs - performance.now();
      if (found.length > 0 || leftMs <= 0 || signal.aborted) return found;
      await untilCalled(this.#options.onWritten, Math.min(leftMs, POLL_MS), signal);
    }
  }

  async #listed(
    kind: OfferedKind,
    prefix: string,
    entries: (idsFrom: string) => Promise<{ id: string; atMs: number; metadata: ResourceItem['metadata'] }[]>,
  ): Promise<{ readonly item: ResourceItem; readonly atMs: number }[]> {
    const ids = idPrefix(kind, prefix);
    if (ids === null) return [];
    return (await entries(ids)).map(({ id, atMs, metadata }) => ({
      item: { uri: formatUri(kind, id), kind, metadata },
      atMs,
    }));
  }

  async #lastSeq({ kind, id }: ResourceTarget): Promise<number> {
    await this.#options.flush();
    const { records } = this.#options;
    return kind === 'run_events' ? records.lastSeqOfRun(id) : records.lastSeqOfChild(id);
  }

  async #entries({ kind, id }: ResourceTarget, fromSeq: number, limit: number): Promise<Entry[]> {
    const { store, records } = this.#options;
    if (kind === 'run_events') return (await store.events({ runId: id, fromSeq, limit })).map(runEvent);
    return (await records.childLogs({ childId: id, fromSeq, limit })).map(childLogEntry);
  }

  async #newest(found: ResourceTarget): Promise<Entry[]> {
    const events = await this.#entries(found, 0, MAX_READ);
    while (events.length >= MAX_READ) {
      const more = await this.#entries(found, (events.at(-1)?.seq ?? 0) + 1, MAX_READ);
      if (more.length === 0) break;
      events.push(...more);
      events.splice(0, events.length - MAX_READ);
    }
    return events;
  }

  async #snapshot(uri: string, pruneId: string): Promise<object> {
    const { store, records } = this.#options;
    const [prune, original] = [await store.findPrune(pruneId), await store.findOriginal(pruneId)];
    if (prune !== null && original !== null) return snapshotPayload(pruneId, prune, original);
    if ((await records.pruneState(pruneId)) === 'expired') throw new PrunerError('resource_expired', { uri });
    throw unknown(uri);
  }
}

function snapshotPayload(pruneId: string, { decision, createdAtMs, expiresAtMs }: StoredPrune, original: string) {
  const { sourceType, kind, tool, goal, lines, keptLines, tokensBefore, tokensAfter } = decision;
  return {
    pruneId,
    createdAt: createdAtMs,
    expiresAt: expiresAtMs,
    sourceType,
    textKind: kind,
    tool,
    goal,
    annotations: annotate(decision.cuts, pruneId).map(annotationToWire),
    stats: {
      original_lines: lines,
      kept_lines: keptLines,
      pruned_lines: lines - keptLines,
      pruned_ratio: lines === 0 ? 0 : Math.round(((lines - keptLines) / lines) * 10_000) / 10_000,
      tokens_est_before: tokensBefore,
      tokens_est_after: tokensAfter,
    },
    original,
  };
}

function find(uri: string, { startedBy }: ResourcesOptions): ResourceTarget {
  const name = parseUri(uri);
  if (name === null) throw unknown(uri);
  const { kind, id } = name;
  if (!isOfPart(name) && (kind === 'run_events' || kind === 'snapshot' || kind === 'child_logs')) return { kind, id };
  throw wrongKind(
    uri,
    kind,
    `This server has run_events, snapshot and child_logs only; start it with ${startedBy.join(', ')} for the others.`,
  );
}

/** A resource of an optional part: all kinds not listed here, and a graph snapshot, which has two ids. */
type PartName = ResourceName & { readonly kind: Parameters<PartResources['read']>[0] };

function isOfPart(name: ResourceName): name is PartName {
  return !['run_events', 'child_logs'].includes(name.kind) && (name.kind !== 'snapshot' || name.part !== undefined);
}

function watchable(uri: string, options: ResourcesOptions): ResourceTarget {
  const name = parseUri(uri);
  if (name !== null && isOfPart(name))
    throw wrongKind(uri, name.kind, 'Use events_watch or bb_watch for graphs and the blackboard.');
  const found = find(uri, options);
  if (found.kind !== 'snapshot') return found;
  throw wrongKind(uri, found.kind, 'A snapshot never changes: use resources_read. Runs and children can be watched.');
}

function unknown(uri: string): PrunerError {
  return new PrunerError('resource_not_found', { uri: uri.slice(0, 200) });
}

function wrongKind(uri: string, kind: ResourceKind, hint: string): PrunerError {
  return new PrunerError('resource_wrong_kind', { uri: uri.slice(0, 200), kind, hint });
}
