import type { LedgerTurn, WorkCounts } from '../core/ports/ledger.ts';
import type { LedgerSum } from '../core/ports/ledger-store.ts';

const DAY_MS = 86_400_000;
/**
 * Maximum number of requests kept in a file without configured retention. The oldest are deleted first; sums are kept.
 */
export const MAX_TURNS = 100_000;
/** Retention of requests in a database without a configured one. */
export const LEDGER_TTL_MS = 180 * DAY_MS;
/** Age after which a state without requests, or a waiting request, is deleted. */
export const STATE_TTL_MS = 90 * DAY_MS;
export const WAITING_TTL_MS = DAY_MS;
/** Maximum number of states in a file, about 3 KB each. */
export const MAX_STATES = 20_000;
/** Maximum number of waiting requests read at once. */
export const MAX_WAITING_READ = 200;
/** Maximum number of figures returned by a query. */
export const MAX_SUMS_READ = 200_000;
/** Lineage of the states that say when a conversation was last sent. They are erased with their conversation. */
export function sentLineage(project: string, conversationId: string): string {
  return `conversation\n${project}\n${conversationId}\nsent`;
}

const MAX_NAME_CHARS = 200;

/** Flags in the column `estimated`. Older versions only check for 0. */
const ESTIMATED = 1;
const ODD = 2;

/** Column of each turn field, in table order. */
const FIELDS = {
  requestId: 'request_id',
  atMs: 'at_ms',
  project: 'project',
  conversationId: 'conversation',
  wire: 'wire',
  cloud: 'cloud',
  keyId: 'key_id',
  client: 'client',
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
  userMessages: 'user_messages',
  calls: 'calls',
  recoveries: 'recoveries',
} as const satisfies Record<keyof TurnRow, string>;

type Cell = string | number | null;

const WORK_FIELDS = ['userMessages', 'calls', 'recoveries'] satisfies (keyof WorkCounts)[];

export const TURN_COLUMNS: readonly string[] = Object.values(FIELDS);
/** Select list for queries of turns. */
export const SELECTED_TURN = Object.entries(FIELDS)
  .map(([field, column]) => `${column} AS "${field}"`)
  .join(', ');

/** A row of a turn, as returned by either database. */
export interface TurnRow extends Omit<LedgerTurn, 'estimated' | 'odd' | 'work'>, WorkCounts {
  readonly estimated: number;
}

/**
 * The values of a turn, in the order of `TURN_COLUMNS`. A list takes an eighth of the memory of an object. Counts are
 * integers, so estimates are rounded.
 */
export function turnCells(turn: LedgerTurn): Cell[] {
  return [
    turn.requestId,
    Math.trunc(turn.atMs),
    named(turn.project),
    named(turn.conversationId),
    turn.wire,
    named(turn.cloud ?? ''),
    turn.keyId ?? '',
    turn.client ?? '',
    named(turn.model),
    turn.arm,
    (turn.estimated ? ESTIMATED : 0) + (turn.odd ? ODD : 0),
    Math.round(turn.fresh),
    Math.round(turn.write5m),
    Math.round(turn.write1h),
    Math.round(turn.read),
    Math.round(turn.output),
    turn.dollars,
    turn.dollarsWithout,
    Math.round(turn.removed),
    Math.round(turn.removedNew),
    turn.miss,
    Math.round(turn.missTokens),
    turn.missDollars,
    turn.missAt,
    Math.round(turn.regretTokens),
    turn.regretDollars,
    turn.work?.userMessages ?? 0,
    turn.work?.calls ?? 0,
    turn.work?.recoveries ?? 0,
  ];
}

export function turnOf({ cloud, keyId, client, ...row }: TurnRow): LedgerTurn {
  const { userMessages, calls, recoveries, ...turn } = row;
  const work = { userMessages, calls, recoveries };
  const hasWork = WORK_FIELDS.some((field) => work[field] > 0);
  return {
    ...turn,
    cloud: cloud || undefined,
    keyId: keyId || undefined,
    client: client || undefined,
    estimated: (row.estimated & ESTIMATED) !== 0,
    odd: (row.estimated & ODD) !== 0 || undefined,
    work: hasWork ? work : undefined,
  };
}

/**
 * The select list for a `LedgerConversation`. Conversations appear once per project, and belong to the control group if
 * any of their requests does.
 */
export const SELECTED_CONVERSATION = `conversation AS "conversationId", project, min(arm) AS arm, count(*) AS turns,
  min(at_ms) AS "firstMs", max(at_ms) AS "lastMs", coalesce(sum(dollars), 0) AS dollars,
  coalesce(sum(dollars_without), 0) AS "dollarsWithout", CAST(sum(output) AS bigint) AS output,
  CAST(sum(regret_tokens) AS bigint) AS "regretTokens",
  CAST(min(fresh + write5m + write1h + read + removed) AS bigint) AS "firstRequestTokens",
  ${WORK_FIELDS.map((field) => `CAST(sum(${FIELDS[field]}) AS bigint) AS "${field}"`).join(', ')},
  (SELECT count(*) FROM main.compaction c WHERE c.project = t.project AND c.continues = t.conversation AND c.conversation <> '') AS compactions`;

/** Merges figures with stored names, so that each (day, project, slice, key, field) occurs once. */
export function addedUp(sums: readonly LedgerSum[]): LedgerSum[] {
  const added = new Map<string, LedgerSum>();
  for (const sum of sums) {
    const [project, key] = [named(sum.project), named(sum.key)];
    const one = project === sum.project && key === sum.key ? sum : { ...sum, project, key };
    const id = `${one.day}\0${project}\0${one.slice}\0${key}\0${one.field}`;
    const known = added.get(id);
    added.set(id, known ? { ...known, value: known.value + one.value } : one);
  }
  return [...added.values()];
}

function named(name: string): string {
  return name.slice(0, MAX_NAME_CHARS);
}

/** Strips the suffix of conversations with a verified history from a project key. */
export function plainProject(project: string): string {
  const [plain = ''] = project.split('\n', 1);
  return plain;
}
