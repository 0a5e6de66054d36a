import type { Database } from 'better-sqlite3';
import { ChildLogs } from './child-logs.ts';
import { Decisions } from './decisions.ts';
import { DirectiveTable } from './directives.ts';
import { Events } from './events.ts';
import { Owners } from './owners.ts';
import { Replies } from './replies.ts';
import { Segments } from './segments.ts';
import { SentTable } from './sent-table.ts';
import { ServedAndRefused } from './served-and-refused.ts';
import { Snapshots } from './snapshots.ts';
import { Statements } from './statements.ts';
import { Summaries } from './summaries.ts';
import { Usage } from './usage.ts';

export type Meter =
  | 'deleted_generation'
  | 'stored_bytes'
  | 'prunes'
  | 'snapshots'
  | 'directive_generation'
  | 'directives'
  | 'key_generation'
  | 'prunes_adopted';

/** Everything that is stored, on one connection. */
export interface Tables {
  /** What lists are prepared on. */
  readonly db: Database;
  readonly sql: Statements;
  readonly snapshots: Snapshots;
  readonly decisions: Decisions;
  readonly owners: Owners;
  readonly marks: ServedAndRefused;
  readonly events: Events;
  readonly usage: Usage;
  readonly segments: Segments;
  readonly directives: DirectiveTable;
  readonly summaries: Summaries;
  readonly childLogs: ChildLogs;
  readonly replies: Replies;
  readonly sent: SentTable;
  /** One of the counters that the schema's triggers keep. */
  meter(name: Meter): number;
}

export function tablesOn(db: Database): Tables {
  const sql = new Statements(db);
  const snapshots = new Snapshots(sql);
  return {
    db,
    sql,
    snapshots,
    decisions: new Decisions(sql, snapshots),
    owners: new Owners(sql),
    marks: new ServedAndRefused(sql),
    events: new Events(sql),
    usage: new Usage(sql),
    segments: new Segments(sql),
    directives: new DirectiveTable(sql),
    summaries: new Summaries(db),
    childLogs: new ChildLogs(sql),
    replies: new Replies(sql),
    sent: new SentTable(sql),
    meter: (name) => sql.value('SELECT value FROM meter WHERE name = ?', name) ?? 0,
  };
}
