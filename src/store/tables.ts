import type { Database } from 'better-sqlite3';
import { Decisions } from './decisions.ts';
import { Events } from './events.ts';
import { Marks } from './marks.ts';
import { SlideTable } from './slides.ts';
import { Snapshots } from './snapshots.ts';
import { Usage } from './usage.ts';

/** Everything that is stored, with its statements prepared on one connection. */
export interface Tables {
  readonly snapshots: Snapshots;
  readonly decisions: Decisions;
  readonly slides: SlideTable;
  readonly marks: Marks;
  readonly events: Events;
  readonly usage: Usage;
  /** One of the counters that the schema's triggers keep. */
  meter(name: 'deleted_generation' | 'stored_bytes' | 'prunes' | 'snapshots'): number;
}

export function prepareTables(db: Database): Tables {
  const snapshots = new Snapshots(db);
  const meter = db.prepare<[string], number>('SELECT value FROM meter WHERE name = ?').pluck();
  return {
    snapshots,
    decisions: new Decisions(db, snapshots),
    slides: new SlideTable(db),
    marks: new Marks(db),
    events: new Events(db),
    usage: new Usage(db),
    meter: (name) => meter.get(name) ?? 0,
  };
}
