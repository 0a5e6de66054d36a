import type { z } from 'zod';
import { Changes } from '../changes.ts';
import { FleetError } from '../errors.ts';
import { type BoardEntry, type BoardEvent, type BoardEvents, type BoardWrite, type Caller, eventOf } from '../ports.ts';
import type { BoardStore } from '../tables/board.ts';
import { inTimeSlices, nextTurn, type Pausable } from '../turns.ts';
import type { queryInput, watchInput, writeInput } from './input.ts';

export const MAX_VALUE_BYTES = 256 * 1024;
export const MAX_DEPTH = 64;
const MAX_BATCH_BYTES = 1024 * 1024;

class ValueError extends Error {
  override readonly name = 'ValueError';
  readonly index: number;

  constructor(index: number, message: string) {
    super(message);
    this.index = index;
  }
}

/** Namespace of a key: the part before the first `:`, `/` or `|`, otherwise the whole key. */
export function namespaceOf(key: string): string {
  const end = key.search(/[:/|]/);
  return end > 0 ? key.slice(0, end) : key;
}

/** Normalises tags: trimmed, lower-cased, deduplicated, sorted, without empty ones. */
export function normaliseTags(tags: readonly string[]): string[] {
  const clean = tags.map((tag) => tag.trim().toLowerCase()).filter((tag) => tag !== '');
  return [...new Set(clean)].sort();
}

/**
 * Serialises the values of a batch.
 *
 * @throws ValueError for the first value that is too large or too deep
 */
export function* valueTexts(values: readonly unknown[]): Pausable<string[]> {
  let total = 0;
  const texts: string[] = [];
  for (const [index, value] of values.entries()) {
    if (isDeeper(value, MAX_DEPTH)) throw new ValueError(index, `a value is at most ${MAX_DEPTH} levels deep`);
    const text = JSON.stringify(value ?? null);
    const bytes = Buffer.byteLength(text);
    total += bytes;
    if (bytes > MAX_VALUE_BYTES) throw new ValueError(index, `a value takes at most ${MAX_VALUE_BYTES} bytes of JSON`);
    if (total > MAX_BATCH_BYTES) throw new ValueError(index, `a batch takes at most ${MAX_BATCH_BYTES} bytes of JSON`);
    texts.push(text);
    yield;
  }
  return texts;
}

/** Whether objects and lists nest deeper than `levels`. The check itself stops at that depth. */
function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  return Object.values(value).some((part) => isDeeper(part, levels - 1));
}

/** Poll interval for writes by other processes, in milliseconds. */
const LOOK_AGAIN_MS = 100;

export class Board {
  readonly changes = new Changes();
  readonly #store: BoardStore;

  constructor(store: BoardStore) {
    this.#store = store;
  }

  /** Writes all entries or none. */
  async set(inputs: readonly z.infer<typeof writeInput>[], caller: Caller) {
    const texts = await valuesOf(inputs);
    const writes = inputs.map(
      ({ key, tags, ttl_ms }, index): BoardWrite => ({
        key,
        namespace: namespaceOf(key),
        value: texts[index] ?? 'null',
        tags: normaliseTags(tags),
        ttlMs: ttl_ms ?? null,
      }),
    );
    await nextTurn();
    const entries = await this.#store.set(writes, eventsOf(caller));
    if (entries === null) throw new FleetError('E-FLEET-BOUND', { bound: 'entries of the blackboard' });
    this.changes.notify();
    await nextTurn(); // serialising large values for the answer takes long
    return entries.map(shownEntry);
  }

  async get(key: string) {
    const entry = await this.#store.get(key);
    if (entry === null) throw new FleetError('E-BB-NOTFOUND', { key });
    return shownEntry(entry);
  }

  async value(key: string): Promise<unknown> {
    return (await this.#store.get(key))?.value;
  }

  async delete(key: string, caller: Caller) {
    const deleted = await this.#store.delete(key, eventsOf(caller));
    if (deleted) this.changes.notify();
    return { key, deleted };
  }

  async query({ keys, tags = [], namespace, limit, cursor }: z.infer<typeof queryInput>) {
    const entries = await this.#store.query({
      keys,
      tags: normaliseTags(tags),
      namespace: namespace ?? null,
      before: cursor === undefined ? null : Number(cursor),
      limit: limit + 1,
    });
    const page = entries.slice(0, limit);
    const next = entries.length > limit ? String(page.at(-1)?.version) : null;
    return { entries: page.map(shownEntry), next_cursor: next };
  }

  /** Changes after a version, ascending. Waits if there is none yet. */
  async watch(query: z.infer<typeof watchInput>, signal: AbortSignal) {
    const { start_version: after, limit, namespace = null, wait_ms: waitMs = 0 } = query;
    const endMs = performance.now() + waitMs;
    for (;;) {
      while (await this.#store.expire(eventsOf({ childId: null })));
      const { events, dropped } = await this.#store.changes({ after, namespace, limit });
      const leftMs = endMs - performance.now();
      if (events.length > 0 || dropped > after || leftMs <= 0 || signal.aborted) {
        const next = events.at(-1)?.version ?? after;
        const gap = dropped > after ? { truncated: true, oldest_version: dropped + 1 } : {};
        return { events: events.map(shownEvent), next_version: next, ...gap };
      }
      await this.changes.next(Math.min(leftMs, LOOK_AGAIN_MS), signal);
    }
  }

  /** All entries of a namespace, for resource readers; `null` if the namespace is empty. */
  async namespacePayload(namespace: string) {
    const entries: BoardEntry[] = [];
    for (let before: number | null = null; ; before = entries.at(-1)?.version ?? 0) {
      const page = await this.#store.query({ tags: [], namespace, before, limit: 1000 });
      entries.push(...page);
      if (page.length < 1000) break;
    }
    if (entries.length === 0) return null;
    return {
      namespace,
      entries: entries.map(({ createdMs, updatedMs, expiresMs, ...entry }) => ({
        ...entry,
        createdAt: createdMs,
        updatedAt: updatedMs,
        expiresAt: expiresMs,
      })),
    };
  }
}

async function valuesOf(inputs: readonly z.infer<typeof writeInput>[]): Promise<string[]> {
  try {
    return await inTimeSlices(valueTexts(inputs.map(({ value }) => value)));
  } catch (cause) {
    if (!(cause instanceof ValueError)) throw cause;
    throw new FleetError('E-BB-VALUE', { index: cause.index, reason: cause.message }, { cause });
  }
}

function eventsOf({ childId }: Caller): BoardEvents {
  return ({ kind, key, version }) => [eventOf(`bb_${kind}`, { childId }, { key, version }, 'debug')];
}

function shownEntry({ key, value, tags, createdMs, updatedMs, expiresMs, version }: BoardEntry) {
  return { key, value, tags, created_at: createdMs, updated_at: updatedMs, expires_at: expiresMs, version };
}

function shownEvent({ version, kind, key, tsMs, reason, entry, previous }: BoardEvent) {
  return {
    version,
    kind,
    key,
    timestamp: tsMs,
    reason,
    entry: entry && shownEntry(entry),
    previous: previous && shownEntry(previous),
  };
}
