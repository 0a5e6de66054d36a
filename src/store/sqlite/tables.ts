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
import { Shares } from './shares.ts';
import { Snapshots } from './snapshots.ts';
import { Summaries } from './summaries.ts';
import { Usage } from './usage.ts';
import { UseTable } from './use-table.ts';

export type Meter =
  | 'deleted_generation'
  | 'stored_bytes'
  | 'prunes'
  | 'snapshots'
  | 'directive_generation'
  | 'directives'
  | 'key_generation'
  | 'prunes_adopted';

/** Everything that is stored, with its statements prepared on one connection. */
export interface Tables {
  /** What they are prepared on, for parts that are seldom used and prepare their own. */
  readonly db: Database;
  readonly snapshots: Snapshots;
  readonly decisions: Decisions;
  readonly shares: Shares;
  readonly owners: Owners;
  readonly uses: UseTable;
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

export function prepareTables(db: Database): Tables {
  const snapshots = new Snapshots(db);
  const meter = db.prepare<[string], number>('SELECT value FROM meter WHERE name = ?').pluck();
  return {
    db,
    snapshots,
    decisions: new Decisions(db, snapshots),
    shares: new Shares(db),
    owners: new Owners(db),
    uses: new UseTable(db),
    marks: new ServedAndRefused(db),
    events: new Events(db),
    usage: new Usage(db),
    segments: new Segments(db),
    directives: new DirectiveTable(db),
    summaries: new Summaries(db),
    childLogs: new ChildLogs(db),
    replies: new Replies(db),
    sent: new SentTable(db),
    meter: (name) => meter.get(name) ?? 0,
  };
}
