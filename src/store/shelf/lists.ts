import type {
  NewConversation,
  SeenDeclaration,
  SeenTools,
  ShelfCharge,
  ShelfConversation,
  ShelfCut,
  ShelfStore,
  ShelfTool,
  ShelfTotals,
} from '../../core/ports/shelf.ts';
import {
  all,
  bounded,
  change,
  one,
  type Rows,
  type Sql,
  type Steps,
  type Transactions,
  writesInTurn,
} from '../sql/steps.ts';

/** Minimum numbers of conversations and days without a call before a tool is shelved. */
const ENOUGH_CONVERSATIONS = 5;
const ENOUGH_DAYS = 2;
/** Conversations whose last request is older than `KEPT_MS` are deleted. */
const DAY_MS = 86_400_000;
const KEPT_MS = 90 * DAY_MS;
const MAX_LISTED = 10_000;

/** `ShelfStore` on the tables of either database. */
export class StoredShelf implements ShelfStore {
  readonly #rows: Rows;
  readonly #steps: Transactions;

  constructor(sql: Sql) {
    this.#rows = sql;
    this.#steps = writesInTurn(sql, 'shelf');
  }

  updateShelf(query: Parameters<ShelfStore['updateShelf']>[0]): Promise<ReadonlySet<string>> {
    return this.#steps.write(() => shelvedTools(query));
  }

  begin(conversation: NewConversation): Promise<readonly ShelfCut[]> {
    return this.#steps.write(() => begin(conversation));
  }

  async cutsOf(query: Parameters<ShelfStore['cutsOf']>[0]): Promise<readonly ShelfCut[] | null> {
    const row = await this.#decided(query);
    if (row === null) return null;
    if (query.atMs - Number(row.seen_ms) > DAY_MS)
      await this.#steps.write(() =>
        change('UPDATE main.tool_shelf_conversation SET seen_ms = ? WHERE id = ?', [query.atMs, row.id]),
      );
    return JSON.parse(row.cuts) as ShelfCut[];
  }

  /** A conversation that moves to another project keeps its initial cuts. */
  async #decided({ project, conversation }: Parameters<ShelfStore['cutsOf']>[0]): Promise<DecidedRow | null> {
    const rows = await this.#rows.all<DecidedRow>(
      `SELECT id, cuts, seen_ms FROM main.tool_shelf_conversation WHERE conversation = ?
       ORDER BY CASE WHEN project = ? THEN 0 ELSE 1 END, seen_ms DESC, id LIMIT 1`,
      [conversation, project],
    );
    return rows[0] ?? null;
  }

  record(request: SeenTools): Promise<ShelfConversation> {
    return this.#steps.write(() => see(request), { background: 'shelf' });
  }

  charge(charge: ShelfCharge): Promise<void> {
    return this.#steps.write(() => chargeTo(charge), { background: 'shelf' });
  }

  async tools({ project }: { readonly project?: string }): Promise<readonly ShelfTool[]> {
    const rows = await this.#rows.all<ListedRow>(
      `SELECT project, client, name, kind, tokens, saves, conversations, days, calls, last_call_ms AS "lastCallMs",
         first_ms AS "firstMs", dollars, shelved_ms AS "shelvedMs"
       FROM main.tool_declaration WHERE project = coalesce(?, project) ORDER BY tokens DESC, id LIMIT ?`,
      [project ?? null, bounded(MAX_LISTED)],
    );
    return rows.map(numeric);
  }

  async totals({ sinceDay, project }: { readonly sinceDay: string; readonly project?: string }): Promise<ShelfTotals> {
    const [row] = await this.#rows.all<SumsRow>(
      `SELECT coalesce(sum(tokens), 0.0) AS tokens, coalesce(sum(dollars), 0.0) AS usd,
         coalesce(sum(saved_tokens), 0.0) AS saved, coalesce(sum(saved_dollars), 0.0) AS "savedUsd",
         coalesce(sum(called), 0) AS called
       FROM main.tool_shelf_day WHERE day >= ? AND project = coalesce(?, project)`,
      [sinceDay, project ?? null],
    );
    return {
      wouldSave: { tokens: Number(row?.tokens ?? 0), usd: Number(row?.usd ?? 0) },
      saved: { tokens: Number(row?.saved ?? 0), usd: Number(row?.savedUsd ?? 0) },
      called: Number(row?.called ?? 0),
    };
  }
}

interface SumsRow {
  readonly tokens: number;
  readonly usd: number;
  readonly saved: number;
  readonly savedUsd: number;
  readonly called: number;
}

interface ListedRow extends Omit<ShelfTool, 'shelved'> {
  readonly shelvedMs: number | null;
}

/** PostgreSQL may give 64-bit numbers as strings. */
function numeric(row: ListedRow): ShelfTool {
  const { tokens, saves, conversations, days, calls, lastCallMs, firstMs, dollars, shelvedMs, ...names } = row;
  return {
    ...names,
    tokens: Number(tokens),
    saves: Number(saves),
    conversations: Number(conversations),
    days: Number(days),
    calls: Number(calls),
    lastCallMs: lastCallMs === null ? null : Number(lastCallMs),
    firstMs: Number(firstMs),
    dollars: Number(dollars),
    shelved: shelvedMs !== null && Number(calls) === 0,
  };
}

interface DecidedRow {
  readonly id: number;
  readonly cuts: string;
  readonly seen_ms: number;
}

function* begin({ project, conversation, cuts, decisionTtlMs, atMs }: NewConversation): Steps<readonly ShelfCut[]> {
  const known = yield* one<DecidedRow>(
    'SELECT id, cuts, seen_ms FROM main.tool_shelf_conversation WHERE project = ? AND conversation = ?',
    [project, conversation],
  );
  if (known && atMs - Number(known.seen_ms) <= decisionTtlMs) return JSON.parse(known.cuts) as ShelfCut[];
  if (known)
    yield* change('UPDATE main.tool_shelf_conversation SET cuts = ?, seen_ms = ? WHERE id = ?', [
      JSON.stringify(cuts),
      atMs,
      known.id,
    ]);
  else {
    yield* change(
      'INSERT INTO main.tool_shelf_conversation (project, conversation, cuts, seen_ms) VALUES (?, ?, ?, ?)',
      [project, conversation, JSON.stringify(cuts), atMs],
    );
    yield* change('DELETE FROM main.tool_shelf_conversation WHERE seen_ms < ?', [atMs - KEPT_MS]);
  }
  return cuts;
}

/** Hashes of shelved declarations, after shelving due ones (at most once a day per project and client). */
function* shelvedTools(query: Parameters<ShelfStore['updateShelf']>[0]): Steps<ReadonlySet<string>> {
  const { project, client, never, atMs } = query;
  const rows = yield* all<{
    readonly id: number;
    readonly hash: string;
    readonly name: string;
    shelved_ms: number | null;
  }>(
    `SELECT id, hash, name, shelved_ms FROM main.tool_declaration
     WHERE project = ? AND client = ? AND kind = 'plain' AND calls = 0 AND (shelved_ms IS NOT NULL OR
       (conversations >= ? AND days >= ?)) ORDER BY id LIMIT 10000`,
    [project, client, ENOUGH_CONVERSATIONS, ENOUGH_DAYS],
  );
  const unused = rows.filter(({ name }) => !never(name));
  const shelved = new Set(unused.filter(({ shelved_ms }) => shelved_ms !== null).map(({ hash }) => hash));
  const newcomers = unused.filter(({ hash }) => !shelved.has(hash));
  if (newcomers.length === 0) return shelved;
  const day = dayOf(atMs);
  const last = yield* one<{ readonly day: string }>(
    'SELECT day FROM main.tool_shelf_change WHERE project = ? AND client = ?',
    [project, client],
  );
  if (last?.day === day) return shelved;
  for (const { id, hash } of newcomers) {
    yield* change('UPDATE main.tool_declaration SET shelved_ms = ? WHERE id = ?', [atMs, id]);
    shelved.add(hash);
  }
  yield* change(
    `INSERT INTO main.tool_shelf_change AS c (project, client, day) VALUES (?, ?, ?)
     ON CONFLICT (project, client) DO UPDATE SET day = excluded.day`,
    [project, client, day],
  );
  return shelved;
}

function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

interface ConversationRow {
  readonly id: number;
  readonly would_save: number;
  readonly tools: string;
  readonly calls: string;
}

interface ToolRow {
  readonly id: number;
  readonly conversations: number;
  readonly days: number;
  readonly calls: number;
}

function* see(request: SeenTools): Steps<ShelfConversation> {
  const { project, conversation, client, atMs } = request;
  const known = yield* one<ConversationRow>(
    'SELECT id, would_save, tools, calls FROM main.tool_conversation WHERE project = ? AND conversation = ?',
    [project, conversation],
  );
  const { wouldSave, tools } = known
    ? { wouldSave: Number(known.would_save), tools: JSON.parse(known.tools) as number[] }
    : yield* declare(request);
  const before = new Map(Object.entries(JSON.parse(known?.calls ?? '{}') as Record<string, number>));
  const after = new Map(before);
  let called = 0;
  for (const [name, count] of request.calls) {
    const more = count - (before.get(name) ?? 0);
    if (more <= 0) continue;
    after.set(name, count);
    yield* call(request, name, more, tools);
    if (isIn(request.shortened, name)) called += more;
  }
  if (called > 0)
    yield* change(
      `INSERT INTO main.tool_shelf_day AS d (day, project, tokens, dollars, called) VALUES (?, ?, 0.0, 0.0, ?)
       ON CONFLICT (day, project) DO UPDATE SET called = d.called + excluded.called`,
      [dayOf(atMs), project, called],
    );
  const calls = JSON.stringify(Object.fromEntries(after));
  if (known)
    yield* change('UPDATE main.tool_conversation SET calls = ?, seen_ms = ? WHERE id = ?', [calls, atMs, known.id]);
  else {
    yield* change(
      `INSERT INTO main.tool_conversation (project, conversation, client, tools, would_save, calls, seen_ms)
       VALUES (?, ?, ?, ?, ?, ?, ?)`,
      [project, conversation, client, JSON.stringify(tools), wouldSave, calls, atMs],
    );
    yield* change('DELETE FROM main.tool_conversation WHERE seen_ms < ?', [atMs - KEPT_MS]);
  }
  return { wouldSave, tools };
}

/** Codex omits the namespace in some calls. */
function isIn(names: ReadonlySet<string>, called: string): boolean {
  return names.has(called) || [...names].some((name) => name.endsWith(`__${called}`));
}

/** Records the declarations of a new conversation. Conversations first seen midway do not count. */
function* declare({
  project,
  client,
  declarations,
  isFirst,
  never,
  tokensSaved,
  atMs,
}: SeenTools): Steps<{ wouldSave: number; tools: number[] }> {
  const day = dayOf(atMs);
  const tools: number[] = [];
  let wouldSave = 0;
  for (const declaration of new Map(declarations.map((one) => [one.hash, one])).values()) {
    const row = yield* toolOf(project, client, declaration, atMs);
    tools.push(Number(row.id));
    if (!isFirst) continue;
    const isUnused =
      Number(row.calls) === 0 && Number(row.conversations) >= ENOUGH_CONVERSATIONS && Number(row.days) >= ENOUGH_DAYS;
    if (isUnused && !never(declaration.name)) wouldSave += declaration.saves;
    yield* change(
      `UPDATE main.tool_declaration SET conversations = conversations + 1, saves = ?,
         days = days + CASE WHEN last_day = ? THEN 0 ELSE 1 END, last_day = ? WHERE id = ?`,
      [declaration.saves, day, day, row.id],
    );
  }
  return { wouldSave: Math.max(0, wouldSave - tokensSaved), tools };
}

function* toolOf(project: string, client: string, declaration: SeenDeclaration, atMs: number): Steps<ToolRow> {
  const { hash, name, kind, tokens, saves } = declaration;
  const find = (): Steps<ToolRow | null> =>
    one<ToolRow>(
      'SELECT id, conversations, days, calls FROM main.tool_declaration WHERE project = ? AND client = ? AND hash = ?',
      [project, client, hash],
    );
  const known = yield* find();
  if (known) return known;
  yield* change(
    `INSERT INTO main.tool_declaration
       (project, client, hash, name, kind, tokens, saves, conversations, days, last_day, calls, last_call_ms, first_ms, dollars)
     VALUES (?, ?, ?, ?, ?, ?, ?, 0, 0, '', 0, NULL, ?, 0.0)`,
    [project, client, hash, name, kind, tokens, saves, atMs],
  );
  const made = yield* find();
  return made ?? { id: 0, conversations: 0, days: 0, calls: 0 };
}

/**
 * Counts calls of a tool for its declaration in this conversation or, without one, for all declarations with the name.
 */
function* call(
  { project, client, atMs }: SeenTools,
  name: string,
  more: number,
  tools: readonly number[],
): Steps<void> {
  const inNamespace = `__${name}`;
  const alike = yield* all<{ readonly id: number; readonly name: string }>(
    'SELECT id, name FROM main.tool_declaration WHERE project = ? AND client = ? AND (name = ? OR name LIKE ?) ORDER BY id LIMIT 1000',
    [project, client, name, `%${inNamespace}`],
  );
  const named = alike.filter((tool) => tool.name === name || tool.name.endsWith(inNamespace));
  const own = named.filter(({ id }) => tools.includes(Number(id)));
  for (const { id } of own.length > 0 ? own : named)
    yield* change('UPDATE main.tool_declaration SET calls = calls + ?, last_call_ms = ? WHERE id = ?', [
      more,
      atMs,
      id,
    ]);
}

function* chargeTo({ project, day, tools, wouldSave, saved, rate }: ShelfCharge): Steps<void> {
  if (rate > 0 && tools.length > 0)
    yield* change(
      'UPDATE main.tool_declaration SET dollars = dollars + tokens * CAST(? AS double precision) WHERE id IN LIST(?)',
      [rate, tools],
    );
  if (wouldSave <= 0 && saved.tokens === 0) return;
  yield* change(
    `INSERT INTO main.tool_shelf_day AS d (day, project, tokens, dollars, saved_tokens, saved_dollars)
     VALUES (?, ?, ?, ?, ?, ?)
     ON CONFLICT (day, project) DO UPDATE SET tokens = d.tokens + excluded.tokens, dollars = d.dollars + excluded.dollars,
       saved_tokens = d.saved_tokens + excluded.saved_tokens, saved_dollars = d.saved_dollars + excluded.saved_dollars`,
    [day, project, wouldSave, wouldSave * rate, saved.tokens, saved.usd],
  );
}
