import type { Database } from 'better-sqlite3';
import { Decisions } from './decisions.ts';
import { RecallIndex } from './recall-index.ts';
import { Segments } from './segments.ts';
import { DirectiveTable, Replies, SentTable, ServedAndRefused } from './small-tables.ts';
import { Snapshots } from './snapshots.ts';
import { Statements } from './statements.ts';

export type Meter =
  | 'deleted_generation'
  | 'stored_bytes'
  | 'prunes'
  | 'snapshots'
  | 'directive_generation'
  | 'directives'
  | 'key_generation'
  | 'prunes_adopted';

/** All tables on one connection. */
export interface Tables {
  readonly sql: Statements;
  readonly snapshots: Snapshots;
  readonly decisions: Decisions;
  readonly recall: RecallIndex;
  readonly marks: ServedAndRefused;
  readonly segments: Segments;
  readonly directives: DirectiveTable;
  readonly replies: Replies;
  readonly sent: SentTable;
  /** One of the counters maintained by the schema's triggers. */
  meter(name: Meter): number;
}

export function tablesOn(db: Database): Tables {
  const sql = new Statements(db);
  const snapshots = new Snapshots(sql);
  const recall = new RecallIndex(sql, snapshots);
  return {
    sql,
    snapshots,
    decisions: new Decisions(sql, snapshots, recall),
    recall,
    marks: new ServedAndRefused(sql),
    segments: new Segments(sql),
    directives: new DirectiveTable(sql),
    replies: new Replies(sql),
    sent: new SentTable(sql),
    meter: (name) => sql.value('SELECT value FROM meter WHERE name = ?', [name]) ?? 0,
  };
}
