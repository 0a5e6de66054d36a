import type {
  BrowseStore,
  ConversationBill,
  ConversationFacets,
  ConversationOrder,
  ConversationQuery,
  ListedCompaction,
  ListedConversation,
  RequestCost,
  SeriesPoint,
  SeriesQuery,
} from '../../core/ports/browse.ts';
import type { ProjectConversation } from '../../core/ports/segments.ts';
import { plainProject } from '../ledger-rows.ts';
import { bounded, type Rows } from '../sql/steps.ts';

const DAY_MS = 86_400_000;
const MAX_FACETS = 500;
const MAX_POINTS = 50_000;
const MAX_COMPACTIONS = 1_000;
/** Suffix of the project key of a conversation with a verified history. */
const BOUND = '\nbound';
const PLAIN = "replace(c.project, ?, '')";
const ABOUT = `c.id AS "row", c.name, c.task, c.turns, c.base_turn AS "baseTurn", c.messages, c.seen_ms AS "seenMs", c.project,
  c.client, c.opening`;
const BILL = `conversation, project, count(*) AS requests, max(model) AS model, count(DISTINCT model) AS models, max(wire) AS wire,
  min(at_ms) AS "firstMs", sum(dollars) AS dollars, sum(CASE WHEN dollars IS NULL THEN 0.0 ELSE dollars_without END) AS without,
  sum(coalesce(regret_dollars, 0.0)) AS "regretDollars", sum(regret_tokens) AS "regretTokens", max(removed_new) AS "biggestCut"`;
/** Sort expression of each ledger-based order, over a conversation's ledger rows. */
const SORTED_BY: Readonly<Record<Exclude<ConversationOrder, 'seen'>, string>> = {
  requests: 'count(*)',
  dollars: 'coalesce(sum(dollars), 0.0)',
  saved: 'coalesce(sum(dollars_without), 0.0) - coalesce(sum(dollars), 0.0) - coalesce(sum(regret_dollars), 0.0)',
  cut: 'max(removed_new)',
};

type AboutRow = ProjectConversation & { readonly client: string; readonly opening: string };

interface BillRow
  extends Pick<
    ConversationBill,
    'requests' | 'model' | 'wire' | 'firstMs' | 'dollars' | 'regretDollars' | 'regretTokens' | 'biggestCut'
  > {
  readonly conversation: string;
  readonly project: string;
  readonly models: number;
  readonly without: number | null;
}

/** A SQL condition with its bound values. */
interface Condition {
  readonly sql: string;
  readonly values: readonly unknown[];
}

/** `BrowseStore` on the tables of either database. */
export class StoredBrowse implements BrowseStore {
  readonly #rows: Rows;

  constructor(rows: Rows) {
    this.#rows = rows;
  }

  async conversations(query: ConversationQuery): Promise<readonly ListedConversation[]> {
    const { order, limit, offset } = query;
    const conditions = conditionsOf(query);
    const where = conditions.map(({ sql }) => sql).join(' AND ') || 'true';
    const values = conditions.flatMap((one) => one.values);
    const page = [bounded(limit), bounded(offset)];
    const found =
      order === 'seen'
        ? await this.#rows.all<AboutRow>(
            `SELECT ${ABOUT} FROM main.conversation c WHERE ${where} ORDER BY c.seen_ms DESC, c.id DESC LIMIT ? OFFSET ?`,
            [...values, ...page],
          )
        : await this.#rows.all<AboutRow>(
            `SELECT ${ABOUT} FROM main.conversation c LEFT JOIN
               (SELECT conversation, project, ${SORTED_BY[order]} AS amount FROM main.ledger_turn GROUP BY conversation, project) l
               ON l.conversation = c.name AND l.project = ${PLAIN}
             WHERE ${where} ORDER BY coalesce(l.amount, 0) DESC, c.seen_ms DESC, c.id DESC LIMIT ? OFFSET ?`,
            [BOUND, ...values, ...page],
          );
    const bills = await this.#bills(found);
    const failed = await this.#failed(found, bills);
    return found.map((one) => {
      const key = keyOf(plainProject(one.project), one.name);
      const bill = bills.get(key);
      return { ...one, bill: bill ? { ...bill, requests: bill.requests + (failed.get(key) ?? 0) } : null };
    });
  }

  /** Requests without an answer. They are not older than the conversation's first turn, apart from its own day. */
  async #failed(
    of: readonly ProjectConversation[],
    bills: ReadonlyMap<string, ConversationBill>,
  ): Promise<ReadonlyMap<string, number>> {
    const firstMs = Math.min(...[...bills.values()].map((bill) => bill.firstMs));
    if (!Number.isFinite(firstMs)) return new Map();
    const sinceDay = new Date(firstMs - DAY_MS).toISOString().slice(0, 10);
    const rows = await this.#rows.all<{ readonly project: string; readonly name: string; readonly requests: number }>(
      `SELECT project, key AS name, sum(value) AS requests FROM main.ledger_sum
       WHERE day >= ? AND slice = 'failed' AND key IN LIST(?) GROUP BY project, key`,
      [sinceDay, of.map(({ name }) => name)],
    );
    return new Map(rows.map(({ project, name, requests }) => [keyOf(project, name), Number(requests)]));
  }

  async #bills(of: readonly ProjectConversation[]): Promise<ReadonlyMap<string, ConversationBill>> {
    const rows = await this.#rows.all<BillRow>(
      `SELECT ${BILL} FROM main.ledger_turn WHERE conversation IN LIST(?) GROUP BY conversation, project`,
      [of.map(({ name }) => name)],
    );
    return new Map(rows.map((row) => [keyOf(row.project, row.conversation), billOf(row)]));
  }

  async facets(projects?: readonly string[]): Promise<ConversationFacets> {
    const own = projects === undefined ? [] : [projects];
    const list = async (select: string, from: string, project: string, values: readonly unknown[]) => {
      const where = projects === undefined ? '' : `WHERE ${project} IN LIST(?)`;
      const sql = `SELECT DISTINCT ${select} AS value FROM ${from} ${where} ORDER BY value LIMIT ${MAX_FACETS}`;
      const rows = await this.#rows.all<{ readonly value: string }>(sql, [...values, ...own]);
      return rows.map(({ value }) => value).filter((value) => value !== '');
    };
    const narrowed = projects === undefined ? [] : [BOUND];
    const [named, clients, models, wires] = await Promise.all([
      list(PLAIN, 'main.conversation c', PLAIN, [BOUND, ...narrowed]),
      list('c.client', 'main.conversation c', PLAIN, narrowed),
      list('model', 'main.ledger_turn', 'project', []),
      list('wire', 'main.ledger_turn', 'project', []),
    ]);
    return { projects: named, clients, models, wires };
  }

  async compactions(names: readonly string[], projects?: readonly string[]): Promise<readonly ListedCompaction[]> {
    const own = ownProjects('project', projects);
    const rows = await this.#rows.all<ListedCompaction>(
      `SELECT project, continues, conversation, client, tokens, at_ms AS "atMs" FROM main.compaction
       WHERE (continues IN LIST(?) OR conversation IN LIST(?)) ${own.sql} ORDER BY id LIMIT ${MAX_COMPACTIONS}`,
      [names, names, ...own.values],
    );
    return rows.map((row) => ({ ...row, tokens: Number(row.tokens), atMs: Number(row.atMs) }));
  }

  async series({ sinceDay, projects, by, fields }: SeriesQuery): Promise<readonly SeriesPoint[]> {
    const own = ownProjects('project', projects);
    const [slice, key] = by === 'project' ? ['all', 'project'] : [by, 'key'];
    const rows = await this.#rows.all<SeriesPoint>(
      `SELECT day, ${key} AS key, sum(value) AS value FROM main.ledger_sum
       WHERE day >= ? AND slice = ? AND field IN LIST(?) ${own.sql} GROUP BY day, ${key} ORDER BY 1, 2 LIMIT ${MAX_POINTS}`,
      [sinceDay, slice, fields, ...own.values],
    );
    return rows.map((row) => ({ ...row, value: Number(row.value) }));
  }

  async showing(
    pruneIds: readonly string[],
    projects?: readonly string[],
  ): Promise<ReadonlyMap<string, readonly string[]>> {
    const own = ownProjects('r.project', projects);
    const rows = await this.#rows.all<{ readonly id: string; readonly name: string }>(
      `SELECT DISTINCT p.prune_id AS id, s.conversation AS name FROM main.prune p JOIN main.recall r ON r.prune = p.id
         JOIN main.recall_seen s ON s.recall = r.id WHERE p.prune_id IN LIST(?) ${own.sql} ORDER BY 1, 2`,
      [pruneIds, ...own.values],
    );
    const found = new Map<string, string[]>();
    for (const { id, name } of rows) found.set(id, [...(found.get(id) ?? []), name]);
    return found;
  }

  async asked(pruneIds: readonly string[], projects?: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const own = ownProjects('r.project', projects);
    const rows = await this.#rows.all<{ readonly id: string; readonly asked: string }>(
      `SELECT p.prune_id AS id, CASE r.about WHEN '' THEN r.path ELSE r.about END AS asked
       FROM main.prune p JOIN main.recall r ON r.prune = p.id WHERE p.prune_id IN LIST(?) ${own.sql} ORDER BY r.seen_ms`,
      [pruneIds, ...own.values],
    );
    return new Map(rows.flatMap(({ id, asked }) => (asked === '' ? [] : [[id, asked]])));
  }

  async costs(requestIds: readonly string[], projects?: readonly string[]): Promise<ReadonlyMap<string, RequestCost>> {
    const own = ownProjects('project', projects);
    const rows = await this.#rows.all<RequestCost & { readonly id: string }>(
      `SELECT request_id AS id, dollars, removed_new AS cut FROM main.ledger_turn WHERE request_id IN LIST(?) ${own.sql}`,
      [requestIds, ...own.values],
    );
    return new Map(rows.map(({ id, dollars, cut }) => [id, { dollars, cut: Number(cut) }]));
  }
}

function ownProjects(column: string, projects: readonly string[] | undefined): Condition {
  return projects === undefined ? { sql: '', values: [] } : { sql: `AND ${column} IN LIST(?)`, values: [projects] };
}

function conditionsOf({ projects, client, model, wire, words, named }: ConversationQuery): readonly Condition[] {
  const billed = (column: string, value: string): Condition => ({
    sql: `EXISTS (SELECT 1 FROM main.ledger_turn t WHERE t.conversation = c.name AND t.project = ${PLAIN} AND t.${column} = ?)`,
    values: [BOUND, value],
  });
  return [
    ...(projects === undefined ? [] : [{ sql: `${PLAIN} IN LIST(?)`, values: [BOUND, projects] }]),
    ...(client === undefined ? [] : [{ sql: 'c.client = ?', values: [client] }]),
    ...(model === undefined ? [] : [billed('model', model)]),
    ...(wire === undefined ? [] : [billed('wire', wire)]),
    ...(words === undefined || words === '' ? [] : [withWords(words, named ?? [])]),
    ...(named === undefined || words ? [] : [{ sql: 'c.name IN LIST(?)', values: [named] }]),
  ];
}

/** Condition for conversations whose facts contain the words, or whose name is listed. */
function withWords(words: string, named: readonly string[]): Condition {
  const escaped = words.toLowerCase().replace(/[\\%_]/g, '\\$&');
  const within = `%${escaped}%`;
  const like = (column: string): string => `lower(${column}) LIKE ? ESCAPE '\\'`;
  const columns = ['c.project', 'c.task', 'c.client', 'c.opening'];
  return {
    sql: `(${columns.map(like).join(' OR ')} OR ${like('c.name')} OR c.name IN LIST(?) OR EXISTS
      (SELECT 1 FROM main.ledger_turn t WHERE t.conversation = c.name AND t.project = ${PLAIN} AND ${like('t.model')}))`,
    values: [...columns.map(() => within), `${escaped}%`, named, BOUND, within],
  };
}

function billOf(row: BillRow): ConversationBill {
  const { model, wire, firstMs, dollars, without } = row;
  return {
    ...{ model, wire, dollars, dollarsWithout: dollars === null ? null : without },
    requests: Number(row.requests),
    otherModels: Number(row.models) - 1,
    firstMs: Number(firstMs),
    regretDollars: Number(row.regretDollars),
    regretTokens: Number(row.regretTokens),
    biggestCut: Number(row.biggestCut),
  };
}

function keyOf(project: string, name: string): string {
  return `${project}\n${name}`;
}
