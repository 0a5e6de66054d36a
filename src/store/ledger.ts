import type { LedgerTurn } from '../core/ports/ledger.ts';
import type {
  CutPlace,
  LedgerConversation,
  LedgerState,
  LedgerStore,
  LedgerSum,
  RequestsCost,
  SentHead,
  Settled,
  SettleQuery,
  SettleWork,
  Settling,
  SpentDollars,
  WaitingRequest,
} from '../core/ports/ledger-store.ts';
import { groupBy } from '../engine/group-by.ts';
import {
  addedUp,
  MAX_SUMS_READ,
  MAX_WAITING_READ,
  plainProject,
  SELECTED_CONVERSATION,
  SELECTED_TURN,
  sentLineage,
  TURN_COLUMNS,
  type TurnRow,
  turnCells,
  turnOf,
} from './ledger-rows.ts';
import { DayCounts, folded, hasRoom, idOf, namesOf } from './ledger-sums.ts';
import { PUT_STATE, replaceNote } from './notes.ts';
import {
  all,
  bounded,
  change,
  each,
  number,
  type Rows,
  type Sql,
  type Steps,
  type Transactions,
  writesInTurn,
} from './sql/steps.ts';

const TURNS = `SELECT ${SELECTED_TURN} FROM main.ledger_turn`;

/** `LedgerStore` on the tables of either database. */
export class StoredLedger implements LedgerStore {
  readonly #rows: Rows;
  readonly #transactions: Transactions;
  readonly #counts = new DayCounts();

  constructor(sql: Sql) {
    this.#rows = sql;
    this.#transactions = writesInTurn(sql, 'ledger');
  }

  settle(query: SettleQuery, work: SettleWork): Promise<number> {
    const counts = this.#counts;
    const settled = function* (): Steps<number> {
      return yield* settle(work(yield* settlingOf(query)), counts);
    };
    return this.#transactions.write(settled, { background: 'ledger' });
  }

  async add(turns: readonly LedgerTurn[], sums: readonly LedgerSum[]): Promise<number> {
    if (turns.length + sums.length === 0) return 0;
    return this.#transactions.write(() => addToLedger(turns, sums, this.#counts), { background: 'ledger' });
  }

  /** See `StoreHandle.replaceNote`. */
  exchange(name: string, text: string): Promise<string | null> {
    return this.#transactions.write(() => replaceNote(name, text));
  }

  sums({ sinceDay, ...of }: Parameters<LedgerStore['sums']>[0]): Promise<readonly LedgerSum[]> {
    const { project = null, slice = null } = of;
    return this.#rows.all(
      `SELECT day, project, slice, key, field, value FROM main.ledger_sum
       WHERE day >= ? AND (CAST(? AS text) IS NULL OR project = ?) AND (CAST(? AS text) IS NULL OR slice = ?)
       ORDER BY day DESC, project COLLATE BINARY, slice COLLATE BINARY, key COLLATE BINARY, field COLLATE BINARY LIMIT ${MAX_SUMS_READ}`,
      [sinceDay, project, project, slice, slice],
    );
  }

  spent({ sinceDay }: { readonly sinceDay: string }): Promise<readonly SpentDollars[]> {
    return this.#rows.all(
      `SELECT day, CASE slice WHEN 'key' THEN 'key' ELSE 'project' END AS of,
         CASE slice WHEN 'key' THEN key ELSE project END AS name, sum(value) AS dollars
       FROM main.ledger_sum WHERE day >= ? AND slice IN ('all', 'key') AND field = 'dollars' GROUP BY 1, 2, 3`,
      [sinceDay],
    );
  }

  async processes({ lineage, aliveFromMs }: Parameters<LedgerStore['processes']>[0]): Promise<number> {
    const [row] = await this.#rows.all<{ count: number }>(
      'SELECT count(*) AS count FROM main.ledger_state WHERE lineage = ? AND at_ms >= ?',
      [lineage, aliveFromMs],
    );
    return Number(row?.count ?? 0);
  }

  totals({ sinceDay, project = null }: { sinceDay: string; project?: string | null }): Promise<readonly LedgerSum[]> {
    const from = `FROM main.ledger_sum WHERE day >= ? AND (CAST(? AS text) IS NULL OR project = ?) AND`;
    return this.#rows.all(
      `SELECT day, '' AS project, slice, key, field, sum(value) AS value ${from} slice = 'all' GROUP BY day, slice, key, field
       UNION ALL SELECT '' AS day, project, slice, key, field, sum(value) AS value ${from} slice = 'all'
       GROUP BY project, slice, key, field
       UNION ALL SELECT '' AS day, '' AS project, slice, key, field, sum(value) AS value ${from} slice IN ('model', 'key', 'tool', 'miss', 'whole')
       GROUP BY slice, key, field
       ORDER BY 1 DESC LIMIT ${MAX_SUMS_READ}`,
      [sinceDay, project, project, sinceDay, project, project, sinceDay, project, project],
    );
  }

  async turns({ conversationId, limit, ...page }: Parameters<LedgerStore['turns']>[0]): Promise<readonly LedgerTurn[]> {
    const { project = null, after = null, newestFirst = false } = page;
    const rows = await this.#rows.all<TurnRow>(
      `${TURNS} WHERE conversation = ? AND (CAST(? AS text) IS NULL OR project = ?) AND (CAST(? AS text) IS NULL
         OR id > (SELECT id FROM main.ledger_turn WHERE request_id = ?)) ORDER BY id ${newestFirst ? 'DESC' : 'ASC'} LIMIT ?`,
      [conversationId, project, project, after, after, bounded(limit)],
    );
    return rows.map(turnOf);
  }

  async noteSent(project: string, conversationId: string, { atMs, ...sent }: SentHead): Promise<void> {
    const { model, tools, system, summary = '' } = sent;
    const lineage = sentLineage(project, conversationId);
    const row = [`${lineage}\n${[model, tools, system, summary].join(' ')}`, lineage, Math.trunc(atMs), 1];
    await this.#transactions.write(() => each(PUT_STATE, [[...row, JSON.stringify(sent)]]), { background: 'ledger' });
  }

  async lastSent(project: string, conversationId: string): Promise<readonly SentHead[]> {
    const rows = await this.#rows.all<{ readonly atMs: number; readonly data: string }>(
      `SELECT at_ms AS "atMs", data FROM main.ledger_state WHERE lineage = ? AND lineage <> '' ORDER BY at_ms DESC LIMIT 6`,
      [sentLineage(project, conversationId)],
    );
    return rows.map(({ atMs, data }) => ({ ...(JSON.parse(data) as Omit<SentHead, 'atMs'>), atMs: Number(atMs) }));
  }

  async costOf(requestIds: readonly string[]): Promise<RequestsCost> {
    const [row] = await this.#rows.all<RequestsCost>(
      `SELECT count(*) AS requests, count(*) - count(dollars) AS unpriced, coalesce(sum(dollars), 0) AS dollars,
         coalesce(sum(dollars_without - CASE WHEN regret_dollars IS NULL THEN 0 ELSE regret_dollars END), 0) AS "dollarsWithout"
       FROM main.ledger_turn WHERE request_id IN LIST(?)`,
      [requestIds],
    );
    const { requests = 0, unpriced = 0, dollars = 0, dollarsWithout = 0 } = row ?? {};
    return { requests: Number(requests), unpriced: Number(unpriced), dollars, dollarsWithout };
  }

  conversations(query: Parameters<LedgerStore['conversations']>[0]): Promise<readonly LedgerConversation[]> {
    const { sinceMs, project = null, limit } = query;
    return this.#rows.all(
      `SELECT ${SELECTED_CONVERSATION} FROM main.ledger_turn t
       WHERE at_ms >= ? AND conversation <> '' AND (CAST(? AS text) IS NULL OR project = ?)
       GROUP BY conversation, project ORDER BY "lastMs" DESC, conversation COLLATE BINARY LIMIT ?`,
      [Math.trunc(sinceMs), project, project, bounded(limit)],
    );
  }

  async addRegret(
    { project, conversationId }: { readonly project: string; readonly conversationId: string },
    { tokens, dollars }: { readonly tokens: number; readonly dollars: number },
  ): Promise<void> {
    const newest = 'SELECT max(id) FROM main.ledger_turn WHERE conversation = ? AND project = ?';
    const add = `UPDATE main.ledger_turn SET regret_tokens = regret_tokens + ?,
      regret_dollars = coalesce(regret_dollars, 0) + ? WHERE id = (${newest})`;
    await this.#transactions.write(() => change(add, [Math.round(tokens), dollars, conversationId, project]), {
      background: 'ledger',
    });
  }

  async cutIn(pruneId: string): Promise<CutPlace | null> {
    const [place] = await this.#rows.all<{ readonly project: string; readonly conversation: string }>(
      `SELECT s.project, c.name AS conversation FROM main.segment_prune p
       JOIN main.segment s ON s.id = p.segment JOIN main.conversation c ON c.id = s.conversation
       WHERE p.prune_id = ? ORDER BY c.seen_ms DESC LIMIT 1`,
      [pruneId],
    );
    if (!place) return null;
    const project = plainProject(place.project);
    const newest = `${TURNS} WHERE conversation = ? AND project = ? ORDER BY id DESC LIMIT 1`;
    const [row] = await this.#rows.all<TurnRow>(newest, [place.conversation, project]);
    return { project, conversationId: place.conversation, newest: row ? turnOf(row) : null };
  }
}

const STATE = 's.name, s.lineage, s.at_ms AS "atMs", s.version, s.data';
const WAITING = `SELECT request_id AS "requestId", since_ms AS "sinceMs", names, lineage, data FROM main.ledger_waiting
  ORDER BY id LIMIT ${MAX_WAITING_READ}`;
const ADD_WAITING = `INSERT INTO main.ledger_waiting (request_id, since_ms, names, lineage, data) VALUES (?, ?, ?, ?, ?)
  ON CONFLICT DO NOTHING`;
const ADD_TURN = `INSERT INTO main.ledger_turn (${TURN_COLUMNS.join(', ')}) VALUES (${TURN_COLUMNS.map(() => '?').join(', ')})
  ON CONFLICT DO NOTHING`;
const ADD_SUM = `INSERT INTO main.ledger_sum AS s (day, project, slice, key, field, value) VALUES (?, ?, ?, ?, ?, ?)
  ON CONFLICT (day, project, slice, key, field) DO UPDATE SET value = s.value + excluded.value`;

/** Figures of keys do not count towards a day's limit. */
const COUNT_SUMS = "SELECT count(*) AS value FROM main.ledger_sum WHERE day = ? AND slice <> 'key'";

/** What exists of a settlement, in one statement: stored states, billed requests, other processes, waiting requests. */
const PROBE = `
  SELECT 'state' AS what, name, version FROM main.ledger_state WHERE name IN LIST(?)
  UNION ALL SELECT 'request', request_id, 0 FROM main.ledger_turn WHERE request_id IN LIST(?)
  UNION ALL SELECT 'request', request_id, 0 FROM main.ledger_waiting WHERE request_id IN LIST(?)
  UNION ALL SELECT 'others', '', count(*) FROM (SELECT 1 FROM main.ledger_state
    WHERE lineage = ? AND lineage <> '' AND name <> ? AND at_ms > ? LIMIT 1) o
  UNION ALL SELECT 'waiting', '', count(*) FROM (SELECT 1 FROM main.ledger_waiting LIMIT 1) w`;

interface Probed {
  readonly what: 'state' | 'request' | 'others' | 'waiting';
  readonly name: string;
  /** Version of a state; otherwise 1 if there is any. */
  readonly version: number;
}

/** Loads the state needed to bill these requests. */
function* settlingOf({ states, lineages, requestIds, process }: SettleQuery): Steps<Settling> {
  const about = [process.lineage, process.name, process.aliveFromMs];
  const probed = yield* all<Probed>(PROBE, [[...states.keys()], requestIds, requestIds, ...about]);
  const namesIn = (what: Probed['what']): string[] => probed.flatMap((row) => (row.what === what ? row.name : []));
  const hasAny = (what: Probed['what']): boolean => probed.some((row) => row.what === what && Number(row.version) > 0);
  const waiting = hasAny('waiting') ? yield* waitingRequests() : [];
  const unchanged = new Set(
    probed.flatMap(({ what, name, version }) => {
      const known = states.get(name) ?? 0;
      return what === 'state' && known !== 0 && known === Number(version) ? name : [];
    }),
  );
  const ofWaiting = waiting.flatMap(({ names }) => names);
  const changed = [...new Set([...namesIn('state'), ...ofWaiting])].filter((name) => !unchanged.has(name));
  const ofLineages = [...new Set([...lineages, ...waiting.flatMap(({ lineage }) => lineage || [])])];
  return {
    states:
      changed.length === 0
        ? []
        : yield* all<LedgerState>(`SELECT ${STATE} FROM main.ledger_state s WHERE s.name IN LIST(?)`, [changed]),
    unchanged,
    newest: ofLineages.length === 0 ? [] : yield* newestOf(ofLineages),
    waiting,
    seen: new Set(namesIn('request')),
    others: hasAny('others'),
  };
}

function* waitingRequests(): Steps<WaitingRequest[]> {
  const rows = yield* all<Omit<WaitingRequest, 'names'> & { readonly names: string }>(WAITING);
  return rows.map((row) => ({ ...row, names: JSON.parse(row.names) as string[] }));
}

/** The newest state of each lineage. */
function* newestOf(lineages: readonly string[]): Steps<LedgerState[]> {
  const found = yield* all<LedgerState>(
    `SELECT ${STATE} FROM main.ledger_state s JOIN
       (SELECT lineage, max(at_ms) AS at_ms FROM main.ledger_state WHERE lineage IN LIST(?) AND lineage <> '' GROUP BY lineage) n
       ON n.lineage = s.lineage AND n.at_ms = s.at_ms WHERE s.lineage <> ''`,
    [lineages],
  );
  return [...new Map(found.map((state) => [state.lineage, state])).values()];
}

function* settle({ turns, sums, states, removed, waits, billed }: Settled, counts: DayCounts): Steps<number> {
  if (billed.length > 0) yield* change('DELETE FROM main.ledger_waiting WHERE request_id IN LIST(?)', [billed]);
  yield* each(
    ADD_WAITING,
    waits.map(({ requestId, sinceMs, names, lineage, data }) => [
      ...[requestId, sinceMs, JSON.stringify(names), lineage, data],
    ]),
  );
  yield* each(
    PUT_STATE,
    states.map(({ name, lineage, atMs, version, data }) => [name, lineage, Math.trunc(atMs), version, data]),
  );
  if (removed.length > 0) yield* change('DELETE FROM main.ledger_state WHERE name IN LIST(?)', [removed]);
  return yield* addToLedger(turns, sums, counts);
}

/** Adds requests and figures; returns the number of folded figures. */
function* addToLedger(turns: readonly LedgerTurn[], sums: readonly LedgerSum[], counts: DayCounts): Steps<number> {
  yield* each(ADD_TURN, turns.map(turnCells));
  let moved = 0;
  for (const [day, own] of groupBy(addedUp(sums), (sum) => sum.day)) {
    const count = counts.after(day, own.length) ?? counts.counted(day, yield* number(COUNT_SUMS, [day]));
    const placed = hasRoom(count, own.length)
      ? { sums: own, folded: 0 }
      : folded(own, { count, ...(yield* figuresOf(day, own)) });
    yield* each(
      ADD_SUM,
      addedUp(placed.sums).map((sum) => [sum.day, sum.project, sum.slice, sum.key, sum.field, sum.value]),
    );
    moved += placed.folded;
  }
  return moved;
}

/** The existing figures of a day, under all names under which the new ones may be stored. */
function* figuresOf(day: string, sums: readonly LedgerSum[]) {
  const names = sums.flatMap(namesOf);
  const rows = yield* all<Omit<LedgerSum, 'value'>>(
    `SELECT day, project, slice, key, field FROM main.ledger_sum
     WHERE day = ? AND project IN LIST(?) AND slice IN LIST(?) AND key IN LIST(?)`,
    [
      day,
      ...[names.map((sum) => sum.project), names.map((sum) => sum.slice), names.map((sum) => sum.key)].map(distinct),
    ],
  );
  const partOf = (sum: Omit<LedgerSum, 'value'>): string => idOf({ ...sum, field: '', value: 0 });
  const known = new Set(rows.map((row) => idOf({ ...row, value: 0 })));
  const parts = new Set(rows.map(partOf));
  return { has: (sum: LedgerSum) => known.has(idOf(sum)), hasPart: (sum: LedgerSum) => parts.has(partOf(sum)) };
}

function distinct(names: readonly string[]): string[] {
  return [...new Set(names)];
}
