import { createHash } from 'node:crypto';
import {
  divided,
  earliestStarts,
  type Movement,
  overlapping,
  type Reading,
  takenBy,
} from '@mcp-pruner/money/limits/attribution.ts';
import { Explained, type ExplainedState } from '@mcp-pruner/money/limits/explained.ts';

/** Share of a session in a window, in millionths. Names are hashed, because an erasure must not leave any. */
interface SessionShare {
  readonly project: string;
  readonly session: string;
  readonly used: number;
}

/** A reading as stored, with its id. */
export type StoredReading = Reading & { readonly id: number };

/** A `WindowFold` as JSON, without the readings that it keeps. */
export interface FoldState {
  /** Ids of the kept readings, in order, and how many of them are counted. */
  readonly recent: readonly number[];
  readonly next: number;
  readonly highest: number;
  readonly isFirst: boolean;
  readonly explained: ExplainedState;
  readonly shares: readonly SessionShare[];
  readonly movements: readonly Movement[];
}

const HASH_CHARS = 12;

function hashed<Name extends string | undefined>(name: Name): Name | string {
  if (name === undefined) return name;
  return createHash('sha256').update(name).digest('base64url').slice(0, HASH_CHARS);
}

/** Requests last at most this long: a movement is final once so much time has passed since. */
const SETTLED_MS = 30 * 60_000;
/** Movements are made final together, because each time takes as long as the recent readings are many. */
const SETTLED_AT_ONCE = 100;
const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;
/** Maximum number of sessions with a share of their own; the smallest of the older ones are dropped beyond it. */
const MAX_SESSIONS = 20_000;

/**
 * Usage of one window between two resets, added up as its readings arrive. Memory and time do not grow with the number
 * of readings: only those of the last hour are kept, because a later answer may still change how they share a movement.
 * The result equals `attribute` over all readings, unless a request lasted longer than half an hour.
 */
export class WindowFold {
  /** Readings by the end of their answers. Those before `#next` are counted, and kept because others overlap them. */
  readonly #recent: StoredReading[] = [];
  #next = 0;
  #highest = 0;
  /** Whether no reading was counted yet: what the first one reports was used before it. */
  #isFirst = true;
  #explained = new Explained();
  readonly #shares = new Map<string, SessionShare>();
  /** The first movement, and those of the last day by minute. */
  readonly #movements: Movement[] = [];

  /** @param readings - those that `state` keeps, by id. @returns `null` if one is missing */
  static restored(state: FoldState, readings: ReadonlyMap<number, StoredReading>): WindowFold | null {
    const fold = new WindowFold();
    for (const id of state.recent) {
      const reading = readings.get(id);
      if (reading === undefined) return null;
      fold.#recent.push(reading);
    }
    fold.#next = state.next;
    fold.#highest = state.highest;
    fold.#isFirst = state.isFirst;
    fold.#explained = Explained.restored(state.explained);
    for (const share of state.shares) fold.#shares.set(`${share.project}\n${share.session}`, share);
    fold.#movements.push(...state.movements);
    return fold;
  }

  /** Inverse of `restored`. */
  save(): FoldState {
    return {
      recent: this.#recent.map(({ id }) => id),
      next: this.#next,
      highest: this.#highest,
      isFirst: this.#isFirst,
      explained: this.#explained.save(),
      shares: [...this.#shares.values()],
      movements: this.#movements,
    };
  }

  add(reading: StoredReading): void {
    let at = this.#recent.length;
    while (at > this.#next && isBefore(reading, this.#recent[at - 1] as Reading)) at--;
    this.#recent.splice(at, 0, reading);
    this.#note(reading.project, reading.session, 0);
    this.#settle();
  }

  /** The reading whose answer ended last. */
  get last(): Reading | undefined {
    return this.#recent.at(-1);
  }

  /** Whether a session or, without a name, any request of a project has used the window. */
  has(project: string | undefined, session?: string | null): boolean {
    if (session === null) return false;
    const [ofProject, ofSession] = [hashed(project), hashed(session)];
    for (const share of this.#shares.values())
      if (isOf(share, ofProject) && (session === undefined || share.session === ofSession)) return true;
    return false;
  }

  /** Current figures. @param session - the session whose share is added up, in `project` if given */
  view(session: string | null, project: string | undefined) {
    let highest = this.#highest;
    const movements = [...this.#movements];
    let own = 0;
    const [ofProject, ofSession] = [hashed(project), hashed(session ?? undefined)];
    for (const share of this.#shares.values())
      if (share.session === ofSession && isOf(share, ofProject)) own += share.used;
    this.#movedFrom(this.#next, this.#recent.length, highest, this.#explained.copy(), (movement, parts) => {
      highest += movement.used;
      movements.push(movement);
      for (const [{ project: of, session: name }, used] of parts)
        if (name === session && isOf({ project: of }, project)) own += used;
    });
    return { used: highest, session: own, movements };
  }

  #settle(): void {
    const untilMs = (this.last?.endedMs ?? 0) - SETTLED_MS;
    let end = this.#next;
    while ((this.#recent[end]?.endedMs ?? Number.POSITIVE_INFINITY) <= untilMs) end++;
    if (end - this.#next < SETTLED_AT_ONCE) return;
    this.#movedFrom(this.#next, end, this.#highest, this.#explained, (movement, parts) => {
      this.#highest += movement.used;
      this.#keep(movement);
      for (const [{ project, session }, used] of parts) this.#note(project, session, used);
    });
    this.#next = end;
    this.#isFirst = false;
    let old = 0;
    // the last counted reading stays: it shows whether a pause preceded the next one
    while (old < this.#next - 1 && (this.#recent[old]?.endedMs ?? 0) <= untilMs - SETTLED_MS) old++;
    this.#recent.splice(0, old);
    this.#next -= old;
  }

  /** Calls `add` for each movement of a range, with the requests that share it. */
  #movedFrom(
    from: number,
    end: number,
    highestBefore: number,
    explained: Explained,
    add: (movement: Movement, parts: readonly (readonly [Reading, number])[]) => void,
  ): void {
    let highest = highestBefore;
    const earliest = earliestStarts(this.#recent);
    for (let i = from; i < end; i++) {
      const reading = this.#recent[i] as Reading;
      const isFirst = this.#isFirst && i === 0;
      if (!isFirst) explained.add(reading);
      const used = reading.used - highest;
      if (used <= 0) continue;
      highest = reading.used;
      const at = isFirst ? [] : [i, ...overlapping(this.#recent, i, earliest)];
      const own = isFirst ? 0 : takenBy(explained, used, this.#recent, at);
      const among = at.flatMap((one) => this.#recent[one] ?? []);
      const weights = among.map((one) => one.weight);
      const parts = divided(own, weights).map((part, of) => [among[of] as Reading, part] as const);
      add({ endedMs: reading.endedMs, used, isOurs: own === used }, parts);
    }
  }

  #note(project: string, session: string, used: number): void {
    if (project === '') return;
    const of = { project: hashed(project), session: hashed(session) };
    const key = `${of.project}\n${of.session}`;
    const before = this.#shares.get(key)?.used ?? 0;
    this.#shares.delete(key); // moves it to the end, as the newest
    this.#shares.set(key, { ...of, used: before + used });
    const [oldest] = this.#shares.keys();
    if (this.#shares.size > MAX_SESSIONS && oldest !== undefined) this.#shares.delete(oldest);
  }

  #keep(movement: Movement): void {
    const last = this.#movements.at(-1);
    const isSameMinute =
      last !== undefined &&
      this.#movements.length > 1 &&
      Math.floor(last.endedMs / MINUTE_MS) === Math.floor(movement.endedMs / MINUTE_MS);
    if (isSameMinute) this.#movements.splice(-1, 1, { ...movement, used: last.used + movement.used });
    else this.#movements.push(movement);
    while ((this.#movements[1]?.endedMs ?? Number.POSITIVE_INFINITY) < movement.endedMs - DAY_MS - SETTLED_MS)
      this.#movements.splice(1, 1);
  }
}

function isOf({ project }: Pick<SessionShare, 'project'>, wanted: string | undefined): boolean {
  return project !== '' && (wanted === undefined || project === wanted);
}

/** The order of `readReadings`. */
function isBefore(a: Reading, b: Reading): boolean {
  return a.endedMs !== b.endedMs ? a.endedMs < b.endedMs : a.used < b.used;
}
