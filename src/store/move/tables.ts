import { TURN_COLUMNS } from '../ledger-rows.ts';
import type { PartTables } from '../part-tables.ts';

/** A value as stored in both databases. */
export type Value = string | number | Uint8Array | null;

export interface MovedTable {
  readonly name: string;
  /** Unique columns used for sorting and look-up. */
  readonly key: readonly string[];
  readonly columns: readonly string[];
  /** Text columns that may contain NUL, which PostgreSQL's text type cannot store. */
  readonly text: readonly string[];
  /** Rows per page; few for large rows. */
  readonly page: number;
}

/** A row of `movedTables`: name, key, columns, columns that may contain NUL, rows read at a time. */
export type MovedRow = readonly [name: string, key: string, columns: string, text?: string, page?: number];

const table = (...[name, key, columns, text = '', page = 1_000]: MovedRow): MovedTable => ({
  name,
  key: key.split(' '),
  columns: columns.split(' '),
  text: text === '' ? [] : text.split(' '),
  page,
});

/** `movedTables`, followed by the tables of optional parts. */
export function movedWith(parts: readonly PartTables[]): readonly MovedTable[] {
  return [...movedTables, ...parts.flatMap(({ moved }) => moved.map((row) => table(...row)))];
}

/**
 * All tables to move, ordered so that no row refers to a later table. Counters kept by triggers (`meter`,
 * `conversation_bytes`, `directive_generation`, and counters of parts) are rebuilt by the target's triggers, and
 * `recall_filter` by searches.
 */
export const movedTables: readonly MovedTable[] = [
  table('snapshot', 'id', 'id hash encoding packing text_bytes stored_bytes data', '', 20),
  table('prune', 'id', 'id prune_id snapshot decision_key body created_ms expires_ms'),
  table('decision', 'id', 'id key prune body expires_ms'),
  table('charge', 'prune', 'prune conversation bytes', 'conversation'),
  table('prune_owner', 'prune project', 'prune project', 'project'),
  table('recall', 'id', 'id project prune tool path about call seen_ms chars newer', 'project tool path about'),
  table('recall_seen', 'recall conversation task', 'recall conversation task ordinal', 'conversation task'),
  table(
    'compaction',
    'id',
    'id project continues conversation client model session summary tokens at_ms product',
    'project continues conversation client model session product',
  ),
  table('tool_shelf_conversation', 'id', 'id project conversation cuts seen_ms', 'project'),
  table('served', 'id', 'id hash expires_ms'),
  table('sent', 'id', 'id prefix body expires_ms'),
  table('left_alone', 'id', 'id prefix_hash expires_ms'),
  table(
    'event',
    'seq',
    'seq ts_ms kind level run_id op_id job_id graph_id node_id child_id payload project audit',
    'kind run_id op_id job_id graph_id node_id child_id project',
  ),
  table(
    'conversation',
    'id',
    'id project name task turns base_turn messages seen_ms client opening',
    'project name task client opening',
  ),
  table(
    'segment',
    'id',
    'id project name conversation task ordinal first_turn seen_turn created_ms role type effect tokens lines tool path start_line end_line call_key about mentions edited',
    'project name task tool path',
  ),
  table('segment_prune', 'segment prune_id', 'segment prune_id'),
  table('directive', 'id', 'id project segment scope action up_to', 'project segment scope'),
  table('step', 'id', 'id project scope conversation messages', 'project scope conversation'),
  table(
    'child_log',
    'seq',
    'seq ts_ms child_id run_id stream message parsed op_id job_id graph_id node_id',
    'child_id run_id message op_id job_id graph_id node_id',
  ),
  table('reply', 'id', 'id tool key args_hash text bytes expires_ms', 'tool key text', 100),
  table('ledger_turn', 'id', `id ${TURN_COLUMNS.join(' ')}`, 'project conversation model key_id'),
  table('ledger_sum', 'day project slice key field', 'day project slice key field value', 'project key'),
  table('ledger_state', 'name', 'name lineage at_ms version data', 'name', 100),
  table('ledger_waiting', 'id', 'id request_id since_ms names lineage data', 'names data', 100),
  table(
    'access_key',
    'id',
    'id hash name projects requests_per_minute tokens_per_day created_ms expires_ms revoked_ms dollars_per_month',
    'name projects',
  ),
  table('key_count', 'key span', 'key span at used most'),
  table('key_used', 'key', 'key at_ms'),
  table('project_setting', 'id', 'id project at_ms author settings', 'project author settings'),
];

/** One side of a move, with rows in pages sorted by key. */
export interface Side {
  count(table: MovedTable): Promise<number>;
  /** Rows after a key, at most one page. */
  read(table: MovedTable, after: readonly Value[] | null): Promise<readonly (readonly Value[])[]>;
  /** Key of the last row, or `null` if the table is empty. */
  last(table: MovedTable): Promise<readonly Value[] | null>;
  /** Adds rows, all or none; existing rows stay unchanged. */
  add(table: MovedTable, rows: readonly (readonly Value[])[]): Promise<void>;
  /** Completes a move by setting sequences to their last number. */
  finish(): Promise<void>;
  /** The source of an earlier move into this store, or `null`. */
  origin(): Promise<string | null>;
  markOrigin(source: string): Promise<void>;
  /** Identity of the stored data, used for `origin`; independent of added rows. */
  readonly name: string;
  close(): Promise<void>;
}
