import { LRUCache } from 'lru-cache';
import type { GraphStore } from '../tables/graphs.ts';
import { inTimeSlices } from '../turns.ts';
import { notFound } from './faults.ts';
import { EMPTY_GRAPH, type GraphDocument } from './model.ts';
import { readGraph } from './text.ts';

/** A committed version; version 0 with an empty document if there is none. */
export interface Base {
  readonly version: number;
  readonly committedMs: number;
  readonly document: GraphDocument;
}

export const EMPTY: Base = { version: 0, committedMs: 0, document: EMPTY_GRAPH };

/** Maximum total number of elements in cached graphs, about 50 MB. */
const CACHED_ELEMENTS = 200_000;

/** Committed versions of graphs, with an LRU cache. Versions never change. */
export class GraphVersions {
  readonly #store: GraphStore;
  readonly #documents = new LRUCache<string, Base>({
    maxSize: CACHED_ELEMENTS,
    sizeCalculation: ({ document }) => 1 + document.nodes.length + document.edges.length,
  });

  constructor(store: GraphStore) {
    this.#store = store;
  }

  remember(graphId: string, base: Base): void {
    this.#documents.set(keyOf(graphId, base.version), base);
  }

  async latest(graphId: string): Promise<Base> {
    const head = await this.#store.head(graphId);
    return head === null ? EMPTY : this.version(graphId, head.version);
  }

  /** @throws FleetError `E-GRAPH-NOT-FOUND` if the version is not stored */
  async version(graphId: string, version: number): Promise<Base> {
    const base = version === 0 ? EMPTY : await this.stored(graphId, version);
    if (base === null) throw notFound(graphId, version);
    return base;
  }

  async stored(graphId: string, version: number): Promise<Base | null> {
    const key = keyOf(graphId, version);
    const known = this.#documents.get(key);
    if (known) return known;
    const stored = await this.#store.version(graphId, version);
    if (stored === null) return null;
    const base = { version, committedMs: stored.committedMs, document: await inTimeSlices(readGraph(stored.text)) };
    this.#documents.set(key, base);
    return base;
  }
}

function keyOf(graphId: string, version: number): string {
  return `${graphId}@${version}`;
}
