import { readThreshold } from '@mcp-pruner/money/compactions.ts';
import { type FinishedWork, finishedWords, newestFinished } from '@mcp-pruner/money/finished-work.ts';
import { pricesOf } from '@mcp-pruner/money/installed-prices.ts';
import { UNITS } from '@mcp-pruner/money/limits/read-limits.ts';
import type { Services } from 'mcp-pruner/app/compose.ts';
import type { Rows } from 'mcp-pruner/store/sql/steps.ts';
import { LimitFold, type OpenWindow } from './fold.ts';
import type { ContextFigures, LineFigures, WindowFigures } from './line-figures.ts';
import { SavedDollars, type SessionMeter } from './meter.ts';
import { usedUpAtMs } from './pace.ts';
import type { Searchable } from './statusline/searchable.ts';
import type { LimitWatch } from './watch.ts';

/** Figures for status lines. A status line reads what was added since the last one. */
export class StatusFigures {
  readonly #services: Services;
  readonly #watch: LimitWatch;
  readonly #meter: SessionMeter;
  readonly #saved: SavedDollars;
  readonly #fold: LimitFold;

  constructor(services: Services, watch: LimitWatch, meter: SessionMeter) {
    this.#services = services;
    this.#watch = watch;
    this.#meter = meter;
    this.#saved = new SavedDollars((query) => services.store.ledger.turns(query));
    const { store, clock } = services;
    this.#fold = new LimitFold({ sql: store.sql, clock, replaceNote: (...note) => store.replaceNote(...note) });
  }

  /**
   * @param session - the client's session id; `null` for the most recently active session
   * @param project - restricts the search to this project
   * @throws StoreUnavailable
   */
  async of(session: string | null, project?: string): Promise<LineFigures> {
    const found = this.#meter.find(session, project);
    const name = session ?? (found && (found.request.session || found.request.conversationId));
    await this.refresh();
    const windows = this.#fold.open().filter(({ fold }) => project === undefined || fold.has(project));
    const owner = found?.project ?? project;
    const own = windows.filter(({ fold }) => fold.has(owner, name));
    const account = (own.length > 0 ? own : windows).toSorted((a, b) => b.lastMs - a.lastMs)[0]?.account;
    const nowMs = this.#services.clock.nowMs();
    return {
      session: name,
      context: found && this.#meter.contextOf(found, await this.#thresholdOf(found.request)),
      windows: windows.filter((one) => one.account === account).map((one) => figuresOf(one, name, owner, nowMs)),
      finished: found && finishedWords(await this.#finishedIn(found.conversations)),
      savedDollars: found && (await this.#saved.read(found.project, found.conversations)),
    };
  }

  /** Reads the limits that answers have reported since the last time. @throws StoreUnavailable */
  async refresh(): Promise<void> {
    await this.#watch.flush();
    await this.#fold.refresh();
    if (this.#fold.isDue) await this.#fold.store();
  }

  /** Stores what was read, for the next process. @throws StoreUnavailable */
  async close(): Promise<void> {
    await this.#watch.flush();
    await this.#fold.store();
  }

  /** Finished work of a conversation in words; `null` if it is small. @throws StoreUnavailable */
  async finishedOf(conversation: string): Promise<string | null> {
    return finishedWords(await this.#finishedIn([conversation]));
  }

  #finishedIn(conversations: readonly string[]): Promise<FinishedWork | null> {
    const { store, settings, clock } = this.#services;
    return newestFinished(store.ledger, pricesOf(settings), clock.nowMs(), { conversations });
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
}

const MAX_NEWEST = 5;

/** @throws StoreUnavailable */
async function readSearchable(sql: Rows, project: string, conversations: readonly string[]): Promise<Searchable> {
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

function figuresOf(
  { window, minutes, resetsS, fold }: OpenWindow,
  name: string | null,
  project: string | undefined,
  nowMs: number,
): WindowFigures {
  const { used, session, movements } = fold.view(name, project);
  return {
    ...{ window, minutes, used: used / UNITS, session: session / UNITS, resetsAtMs: resetsS * 1000 },
    usedUpAtMs: usedUpAtMs({ used, resetsS, minutes, movements }, nowMs),
  };
}
