import type { Services } from '../../app/compose.ts';
import { groupBy } from '../../engine/group-by.ts';
import { readThreshold } from '../../ledger/compactions.ts';
import { type FinishedWork, finishedWords, newestFinished } from '../../ledger/finished-work.ts';
import { attribute, type Moved, type WindowUse } from '../../ledger/limits/attribution.ts';
import { UNITS } from '../../ledger/limits/read-limits.ts';
import type { Rows } from '../../store/sql/steps.ts';
import type { ContextFigures, LineFigures, WindowFigures } from './line-figures.ts';
import { SavedDollars, type SessionMeter } from './meter.ts';
import { usedUpAtMs } from './pace.ts';
import { readReadings } from './readings.ts';
import { currentOf, lastMs } from './report.ts';
import type { Searchable } from './statusline/searchable.ts';
import type { LimitWatch } from './watch.ts';

/** Attributed windows are cached for this long if no answer has reported limits since. */
const FRESH_MS = 60_000;
/** Minimum interval between attributions while answers arrive. */
const EVERY_MS = 5_000;

/** Figures for status lines. Windows are attributed on demand, at most every few seconds. */
export class StatusFigures {
  readonly #services: Services;
  readonly #watch: LimitWatch;
  readonly #meter: SessionMeter;
  readonly #saved: SavedDollars;
  #windows: {
    readonly atMs: number;
    readonly generation: number;
    readonly read: Promise<readonly WindowUse[]>;
  } | null = null;

  constructor(services: Services, watch: LimitWatch, meter: SessionMeter) {
    this.#services = services;
    this.#watch = watch;
    this.#meter = meter;
    this.#saved = new SavedDollars((query) => services.store.ledger.turns(query));
  }

  /**
   * @param session - the client's session id; `null` for the most recently active session
   * @param project - restricts the search to this project
   * @throws StoreUnavailable
   */
  async of(session: string | null, project?: string): Promise<LineFigures> {
    const found = this.#meter.find(session, project);
    const name = session ?? (found && (found.request.session || found.request.conversationId));
    const windows = (await this.#current()).filter(
      ({ requests }) => project === undefined || requests.some(({ reading }) => reading.project === project),
    );
    const owner = found?.project ?? project;
    const isOwn = ({ reading }: Moved): boolean =>
      reading.session === name && reading.project !== '' && (owner === undefined || reading.project === owner);
    const own = windows.filter(({ requests }) => requests.some(isOwn));
    const account = (own.length > 0 ? own : windows).toSorted((a, b) => lastMs(b) - lastMs(a))[0]?.account;
    const nowMs = this.#services.clock.nowMs();
    return {
      session: name,
      context: found && this.#meter.contextOf(found, await this.#thresholdOf(found.request)),
      windows: windows.filter((one) => one.account === account).map((one) => figuresOf(one, isOwn, nowMs)),
      finished: found && finishedWords(await this.#finishedIn(found.conversations)),
      savedDollars: found && (await this.#saved.read(found.project, found.conversations)),
    };
  }

  /** Finished work of a conversation in words; `null` if it is small. @throws StoreUnavailable */
  async finishedOf(conversation: string): Promise<string | null> {
    return finishedWords(await this.#finishedIn([conversation]));
  }

  #finishedIn(conversations: readonly string[]): Promise<FinishedWork | null> {
    const { store, prices, clock } = this.#services;
    return newestFinished(store.ledger, prices, clock.nowMs(), { conversations });
  }

  /** Context of a conversation; `null` if an earlier process handled its last request. @throws StoreUnavailable */
  async contextOf(conversation: string): Promise<ContextFigures | null> {
    const found = this.#meter.ofConversation(conversation);
    return found && this.#meter.contextOf(found, await this.#thresholdOf(found.request));
  }

  /**
   * Results of a session that the model may no longer see but `recall` can still find.
   *
   * @throws StoreUnavailable
   */
  async searchable(session: string | null, project?: string): Promise<Searchable> {
    const found = this.#meter.find(session, project);
    if (found === null) return { results: 0, newest: [] };
    const { store, flushSeen } = this.#services;
    await flushSeen();
    return readSearchable(store.sql, found.project, found.conversations);
  }

  async #thresholdOf({ project, client, model }: { project: string; client: string; model: string }) {
    const known = await readThreshold(this.#services.store.compactions, { project, product: client, model });
    return { isLearned: known?.learned ?? false, threshold: known?.tokens ?? null };
  }

  async #current(): Promise<readonly WindowUse[]> {
    const nowMs = this.#services.clock.nowMs();
    const { generation } = this.#watch;
    const known = this.#windows;
    const maxMs = known?.generation === generation ? FRESH_MS : EVERY_MS;
    if (known === null || nowMs - known.atMs >= maxMs || nowMs < known.atMs) {
      const read = this.#watch.flush().then(() => currentWindows(this.#services, nowMs));
      this.#windows = { atMs: nowMs, generation, read };
      read.catch(() => this.#forget()); // errors are handled by the awaiting caller
    }
    return (this.#windows ?? { read: [] }).read;
  }

  #forget(): void {
    this.#windows = null;
  }
}

const MAX_NEWEST = 5;

/** @throws StoreUnavailable */
async function readSearchable(
  sql: Pick<Rows, 'all'>,
  project: string,
  conversations: readonly string[],
): Promise<Searchable> {
  const from = `FROM main.recall r WHERE r.project = ?
    AND r.id IN (SELECT recall FROM main.recall_seen WHERE conversation IN LIST(?))`;
  const [counted, newest] = await Promise.all([
    sql.all<{ results: number }>(`SELECT count(*) AS results ${from}`, [project, conversations]),
    sql.all<{ name: string }>(
      `SELECT CASE WHEN path <> '' THEN path ELSE about END AS name, max(seen_ms) AS at_ms ${from}
       GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT ${MAX_NEWEST}`,
      [project, conversations],
    ),
  ]);
  return { results: Number(counted[0]?.results ?? 0), newest: newest.map(({ name }) => name) };
}

/** Current windows (with a future reset) of all accounts. */
async function currentWindows({ store }: Pick<Services, 'store'>, nowMs: number): Promise<readonly WindowUse[]> {
  const all = attribute(await readReadings(store.sql, nowMs));
  const named = groupBy(all, ({ account, window }) => JSON.stringify([account, window]));
  return [...named.values()].flatMap((history) => currentOf(history, nowMs) ?? []);
}

/** @param isOwn - whether a request belongs to the shown session */
function figuresOf(window: WindowUse, isOwn: (request: Moved) => boolean, nowMs: number): WindowFigures {
  const own = window.requests.filter(isOwn);
  return {
    window: window.window,
    minutes: window.minutes,
    used: window.used / UNITS,
    session: own.reduce((sum, { used }) => sum + used, 0) / UNITS,
    resetsAtMs: window.resetsS * 1000,
    usedUpAtMs: usedUpAtMs(window, nowMs),
  };
}
