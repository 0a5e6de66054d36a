import type { Arm, LedgerConversation, LedgerSum, LedgerTurn, MissCause } from '../core/ports/ledger.ts';

/** Requests that are kept one by one; past it the oldest go. Sums stay. */
export const MAX_TURNS = 100_000;
/** Figures of a day; names come from clients, and what is new past it is left out. */
export const MAX_SUMS_PER_DAY = 20_000;
/** Figures that a query answers with at the most. */
export const MAX_SUMS_READ = 200_000;
const MAX_NAME_CHARS = 200;

/** A turn as a row of either store. */
export interface TurnRow {
  readonly request_id: string;
  readonly at_ms: number;
  readonly project: string;
  readonly conversation: string;
  readonly wire: string;
  readonly model: string;
  readonly arm: string;
  readonly estimated: number;
  readonly fresh: number;
  readonly write5m: number;
  readonly write1h: number;
  readonly read: number;
  readonly output: number;
  readonly dollars: number | null;
  readonly dollars_without: number | null;
  readonly removed: number;
  readonly removed_new: number;
  readonly miss: string | null;
  readonly miss_tokens: number;
  readonly miss_dollars: number | null;
  readonly miss_at: number;
  readonly regret_tokens: number;
  readonly regret_dollars: number | null;
}

/** Names of the columns, in the order of `turnValues`. */
export const TURN_COLUMNS = [
  'request_id',
  'at_ms',
  'project',
  'conversation',
  'wire',
  'model',
  'arm',
  'estimated',
  'fresh',
  'write5m',
  'write1h',
  'read',
  'output',
  'dollars',
  'dollars_without',
  'removed',
  'removed_new',
  'miss',
  'miss_tokens',
  'miss_dollars',
  'miss_at',
  'regret_tokens',
  'regret_dollars',
] as const satisfies readonly (keyof TurnRow)[];

/** A turn as a row. Counts are whole: estimates are rounded. */
export function turnRow(turn: LedgerTurn): TurnRow {
  return {
    request_id: turn.requestId,
    at_ms: Math.trunc(turn.atMs),
    project: named(turn.project),
    conversation: named(turn.conversationId),
    wire: turn.wire,
    model: named(turn.model),
    arm: turn.arm,
    estimated: turn.estimated ? 1 : 0,
    fresh: Math.round(turn.fresh),
    write5m: Math.round(turn.write5m),
    write1h: Math.round(turn.write1h),
    read: Math.round(turn.read),
    output: Math.round(turn.output),
    dollars: turn.dollars,
    dollars_without: turn.dollarsWithout,
    removed: Math.round(turn.removed),
    removed_new: Math.round(turn.removedNew),
    miss: turn.miss,
    miss_tokens: Math.round(turn.missTokens),
    miss_dollars: turn.missDollars,
    miss_at: turn.missAt,
    regret_tokens: Math.round(turn.regretTokens),
    regret_dollars: turn.regretDollars,
  };
}

export function turnOf(row: TurnRow): LedgerTurn {
  return {
    requestId: row.request_id,
    atMs: Number(row.at_ms),
    project: row.project,
    conversationId: row.conversation,
    wire: row.wire,
    model: row.model,
    arm: armOf(row.arm),
    estimated: row.estimated !== 0,
    fresh: Number(row.fresh),
    write5m: Number(row.write5m),
    write1h: Number(row.write1h),
    read: Number(row.read),
    output: Number(row.output),
    dollars: row.dollars,
    dollarsWithout: row.dollars_without,
    removed: Number(row.removed),
    removedNew: Number(row.removed_new),
    miss: row.miss as MissCause | null, // only what `turnRow` was given stands there
    missTokens: Number(row.miss_tokens),
    missDollars: row.miss_dollars,
    missAt: Number(row.miss_at),
    regretTokens: Number(row.regret_tokens),
    regretDollars: row.regret_dollars,
  };
}

export interface ConversationRow {
  readonly conversation: string;
  readonly project: string;
  readonly arm: string;
  readonly turns: number;
  readonly first_ms: number;
  readonly last_ms: number;
  readonly dollars: number;
  readonly dollars_without: number;
  readonly output: number;
  readonly regret_tokens: number;
}

/** What a query of conversations selects, of either store. A conversation is named once for each project, and is of the
 * control group where any of its requests is. */
export const CONVERSATION_COLUMNS = `conversation, project, min(arm) AS arm, count(*) AS turns, min(at_ms) AS first_ms,
  max(at_ms) AS last_ms, coalesce(sum(dollars), 0) AS dollars, coalesce(sum(dollars_without), 0) AS dollars_without,
  sum(output) AS output, sum(regret_tokens) AS regret_tokens`;

export function conversationOf(row: ConversationRow): LedgerConversation {
  return {
    conversationId: row.conversation,
    project: row.project,
    arm: armOf(row.arm),
    turns: Number(row.turns),
    firstMs: Number(row.first_ms),
    lastMs: Number(row.last_ms),
    dollars: row.dollars,
    dollarsWithout: row.dollars_without,
    output: Number(row.output),
    regretTokens: Number(row.regret_tokens),
  };
}

/** Figures with names as the store keeps them, each (day, project, slice, key, field) once. */
export function addedUp(sums: readonly LedgerSum[]): LedgerSum[] {
  const added = new Map<string, LedgerSum>();
  for (const sum of sums) {
    const one = { ...sum, project: named(sum.project), key: named(sum.key) };
    const id = [one.day, one.project, one.slice, one.key, one.field].join('\0');
    const known = added.get(id);
    added.set(id, known ? { ...known, value: known.value + one.value } : one);
  }
  return [...added.values()];
}

function named(name: string): string {
  return name.slice(0, MAX_NAME_CHARS);
}

/** A project's own name; where conversations are noted apart, what parts them stands behind a line break. */
export function plainProject(project: string): string {
  const [plain = ''] = project.split('\n', 1);
  return plain;
}

function armOf(arm: string): Arm {
  return arm === 'control' ? 'control' : 'pruned';
}
