import type { LedgerSum, LedgerTurn } from '../core/ports/ledger.ts';

const DAY_MS = 86_400_000;
/** Requests that a file keeps one by one where nothing says how long; past it the oldest go. Sums stay. */
export const MAX_TURNS = 100_000;
/** How long a database keeps them where nothing says how long. */
export const LEDGER_TTL_MS = 180 * DAY_MS;
/** States without a request for this long are deleted, and requests that wait for longer than that. */
export const STATE_TTL_MS = 90 * DAY_MS;
export const WAITING_TTL_MS = DAY_MS;
/** States that a file keeps, some 3 KB each. */
export const MAX_STATES = 20_000;
/** Requests that wait for those before them and are read at once. */
export const MAX_WAITING_READ = 200;
/** Figures that a query answers with at the most. */
export const MAX_SUMS_READ = 200_000;
/** The name of the state that is a text of `StoreHandle.exchange`. */
export function noteName(name: string): string {
  return `note\n${name}`;
}

const MAX_NAME_CHARS = 200;

/** The column of each field of a turn, in the order of the table. */
const COLUMN_OF = {
  requestId: 'request_id',
  atMs: 'at_ms',
  project: 'project',
  conversationId: 'conversation',
  wire: 'wire',
  cloud: 'cloud',
  model: 'model',
  arm: 'arm',
  estimated: 'estimated',
  fresh: 'fresh',
  write5m: 'write5m',
  write1h: 'write1h',
  read: 'read',
  output: 'output',
  dollars: 'dollars',
  dollarsWithout: 'dollars_without',
  removed: 'removed',
  removedNew: 'removed_new',
  miss: 'miss',
  missTokens: 'miss_tokens',
  missDollars: 'miss_dollars',
  missAt: 'miss_at',
  regretTokens: 'regret_tokens',
  regretDollars: 'regret_dollars',
} as const satisfies Record<keyof LedgerTurn, string>;

export const TURN_FIELDS = Object.keys(COLUMN_OF) as (keyof LedgerTurn)[];
export const TURN_COLUMNS: readonly string[] = Object.values(COLUMN_OF);
/** What a query of turns selects. */
export const SELECTED_TURN = TURN_FIELDS.map((field) => `${COLUMN_OF[field]} AS "${field}"`).join(', ');

/** A turn as either store has it. */
export interface TurnRow extends Omit<LedgerTurn, 'estimated'> {
  readonly estimated: number;
}

/** A turn as a row. Counts are whole: estimates are rounded. */
export function turnRow(turn: LedgerTurn): TurnRow {
  return {
    ...turn,
    atMs: Math.trunc(turn.atMs),
    project: named(turn.project),
    conversationId: named(turn.conversationId),
    cloud: named(turn.cloud ?? ''),
    model: named(turn.model),
    estimated: turn.estimated ? 1 : 0,
    fresh: Math.round(turn.fresh),
    write5m: Math.round(turn.write5m),
    write1h: Math.round(turn.write1h),
    read: Math.round(turn.read),
    output: Math.round(turn.output),
    removed: Math.round(turn.removed),
    removedNew: Math.round(turn.removedNew),
    missTokens: Math.round(turn.missTokens),
    regretTokens: Math.round(turn.regretTokens),
  };
}

export function turnOf({ cloud, ...row }: TurnRow): LedgerTurn {
  return { ...row, ...(cloud && { cloud }), estimated: row.estimated !== 0 };
}

/** What a query of conversations selects, as a `LedgerConversation`. A conversation is named once for each project, and is of
 * the control group where any of its requests is. */
export const SELECTED_CONVERSATION = `conversation AS "conversationId", project, min(arm) AS arm, count(*) AS turns,
  min(at_ms) AS "firstMs", max(at_ms) AS "lastMs", coalesce(sum(dollars), 0) AS dollars,
  coalesce(sum(dollars_without), 0) AS "dollarsWithout", CAST(sum(output) AS bigint) AS output,
  CAST(sum(regret_tokens) AS bigint) AS "regretTokens",
  CAST(min(fresh + write5m + write1h + read + removed) AS bigint) AS "firstRequestTokens"`;

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
