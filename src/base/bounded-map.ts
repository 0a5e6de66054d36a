import { LRUCache } from 'lru-cache';

/**
 * A map of at most `max` entries; beyond that the least recently used one is evicted. It grows with its content,
 * whereas the option `max` of lru-cache reserves all slots at once: those of one server take 50 ms of CPU and 8 MB.
 */
export class BoundedMap<Key extends {}, Value extends {}> extends LRUCache<Key, Value> {
  /** @param ttl - milliseconds after which an entry is no longer returned; by default, entries do not expire */
  constructor(max: number, ttl?: number) {
    super({ maxSize: max, sizeCalculation: () => 1, ...(ttl !== undefined && { ttl }) });
  }
}
