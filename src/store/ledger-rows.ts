import type { LedgerTurn, WorkCounts } from '../core/ports/ledger.ts';
import type { LedgerSum } from '../core/ports/ledger-store.ts';

const DAY_MS = 86_400_000;
/** Most single requests kept in a file without a configured retention; beyond it the oldest are deleted. Sums stay. */
export const MAX_TURNS = 100_000;
/** Retention of requests in a database without a configured one. */
export const LEDGER_TTL_MS = 180 * DAY_MS;
/** Age after which a state without requests, or a waiting request, is deleted. */
export const STATE_TTL_MS = 90 * DAY_MS;
export const WAITING_TTL_MS = DAY_MS;
/** Most states in a file, about 3 KB each. */
export const MAX_STATES = 20_000;
/** Most waiting requests that are read at once. */
export const MAX_WAITING_READ = 200;
/** Most figures in the answer to a query. */
export const MAX_SUMS_READ = 200_000;
/** The name of the state that stores a text of `StoreHandle.exchange`. */
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
  corrections: 'corrections',
  calls: 'calls',
  callsAgain: 'calls_again',
  recoveries: 'recoveries',
  edits: 'edits',
  failedEdits: 'failed_edits',
  redTests: 'red_tests',
  turnedGreen: 'turned_green',
} as const satisfies Record<keyof TurnRow, string>;

const NO_WORK: WorkCounts = {
  userMessages: 0,
  corrections: 0,
  calls: 0,
  callsAgain: 0,
  recoveries: 0,
  edits: 0,
  failedEdits: 0,
  redTests: 0,
  turnedGreen: 0,
};
const WORK_FIELDS = Object.keys(NO_WORK) as (keyof WorkCounts)[];

export const TURN_FIELDS = Object.keys(COLUMN_OF) as (keyof TurnRow)[];
export const TURN_COLUMNS: readonly string[] = Object.values(COLUMN_OF);
/** The select list of a query of turns. */
export const SELECTED_TURN = TURN_FIELDS.map((field) => `${COLUMN_OF[field]} AS "${field}"`).join(', ');

/** A turn in either database. */
export interface TurnRow extends Omit<LedgerTurn, 'estimated' | 'work'>, WorkCounts {
  readonly estimated: number;
}

/** A turn as a row. Counts are integers: estimates are rounded. */
export function turnRow({ work, ...turn }: LedgerTurn): TurnRow {
  return {
    ...turn,
    ...(work ?? NO_WORK),
    atMs: Math.trunc(turn.atMs),
    project: named(turn.project),
    conversationId: named(turn.conversationId),
    cloud: named(turn.cloud ?? ''),
    keyId: turn.keyId ?? '',
    client: turn.client ?? '',
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

export function turnOf({ cloud, keyId, client, ...row }: TurnRow): LedgerTurn {
  const {
    userMessages,
    corrections,
    calls,
    callsAgain,
    recoveries,
    edits,
    failedEdits,
    redTests,
    turnedGreen,
    ...turn
  } = row;
  const work = { userMessages, corrections, calls, callsAgain, recoveries, edits, failedEdits, redTests, turnedGreen };
  const hasWork = WORK_FIELDS.some((field) => work[field] > 0);
  return {
    ...turn,
    cloud: cloud || undefined,
    keyId: keyId || undefined,
    client: client || undefined,
    estimated: row.estimated !== 0,
    work: hasWork ? work : undefined,
  };
}

/**
 * The select list for a `LedgerConversation`. A conversation appears once per project. It belongs to the control group
 * if any of its requests does.
 */
export const SELECTED_CONVERSATION = `conversation AS "conversationId", project, min(arm) AS arm, count(*) AS turns,
  min(at_ms) AS "firstMs", max(at_ms) AS "lastMs", coalesce(sum(dollars), 0) AS dollars,
  coalesce(sum(dollars_without), 0) AS "dollarsWithout", CAST(sum(output) AS bigint) AS output,
  CAST(sum(regret_tokens) AS bigint) AS "regretTokens",
  CAST(min(fresh + write5m + write1h + read + removed) AS bigint) AS "firstRequestTokens",
  ${WORK_FIELDS.map((field) => `CAST(sum(${COLUMN_OF[field]}) AS bigint) AS "${field}"`).join(', ')},
  (SELECT count(*) FROM main.compaction c WHERE c.project = t.project AND c.continues = t.conversation) AS compactions`;

/** Merges figures with stored names, so that each (day, project, slice, key, field) occurs once. */
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

/** The plain project name, without the suffix after a line break that separates conversations with a verified history. */
export function plainProject(project: string): string {
  const [plain = ''] = project.split('\n', 1);
  return plain;
}
