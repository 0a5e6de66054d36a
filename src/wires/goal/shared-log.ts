interface Entry<T> {
  readonly key: string;
  readonly value: T;
}

/** Storage shared by several logs, each up to its own length, with the positions of each key. */
interface SharedEntries<T> {
  readonly entries: Entry<T>[];
  readonly places: Map<string, number[]>;
}

/**
 * Values by key, in order of arrival. A fork shares all existing entries. The first log to append does so in place;
 * others that continue from the same point copy them.
 */
export class SharedLog<T> {
  #room: SharedEntries<T>;
  #from: number;
  #to: number;

  constructor(room: SharedEntries<T> = { entries: [], places: new Map() }, from = 0, to = 0) {
    this.#room = room;
    this.#from = from;
    this.#to = to;
  }

  get size(): number {
    return this.#to - this.#from;
  }

  fork(): SharedLog<T> {
    return new SharedLog(this.#room, this.#from, this.#to);
  }

  add(key: string, value: T): void {
    const { entries } = this.#room;
    // another log has already appended here, or most entries are dropped
    if (entries.length !== this.#to || this.#from > 2 * this.size + 1_000) this.#move();
    notePlace(this.#room.places, key, this.#to);
    this.#room.entries.push({ key, value });
    this.#to++;
  }

  /** Drops the oldest entries, so that at most `count` remain. */
  keepNewest(count: number): void {
    this.#from = Math.max(this.#from, this.#to - count);
  }

  /** The key of the newest entry; `''` if there is none. */
  get lastKey(): string {
    return this.size === 0 ? '' : (this.#room.entries[this.#to - 1]?.key ?? '');
  }

  /** The newest value under a key. */
  newest(key: string): T | undefined {
    return this.newestOf(key, 1)[0];
  }

  count(key: string): number {
    const places = this.#room.places.get(key) ?? [];
    return rankOf(places, this.#to) - rankOf(places, this.#from);
  }

  /** All values under a key, the oldest first. */
  all(key: string): T[] {
    return this.newestOf(key, Number.POSITIVE_INFINITY);
  }

  /** The newest values under a key, oldest first. The cost depends on their number, not on the log's size. */
  newestOf(key: string, most: number): T[] {
    const places = this.#room.places.get(key) ?? [];
    const end = rankOf(places, this.#to);
    const start = Math.max(rankOf(places, this.#from), end - most);
    return places.slice(start, end).flatMap((at) => this.#room.entries[at]?.value ?? []);
  }

  /** All entries, the oldest first. */
  entries(): readonly (readonly [key: string, value: T])[] {
    return this.#room.entries.slice(this.#from, this.#to).map(({ key, value }) => [key, value]);
  }

  #move(): void {
    const entries = this.#room.entries.slice(this.#from, this.#to);
    const places = new Map<string, number[]>();
    for (const [at, { key }] of entries.entries()) notePlace(places, key, at);
    this.#room = { entries, places };
    this.#from = 0;
    this.#to = entries.length;
  }
}

/** The number of elements of an ascending list below a value. */
function rankOf(places: readonly number[], place: number): number {
  let low = 0;
  let high = places.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((places[middle] ?? place) < place) low = middle + 1;
    else high = middle;
  }
  return low;
}

function notePlace(places: Map<string, number[]>, key: string, at: number): void {
  const known = places.get(key);
  if (known) known.push(at);
  else places.set(key, [at]);
}
