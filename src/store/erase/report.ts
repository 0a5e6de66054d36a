import type { Plan } from './erasure.ts';
import type { Scrubbed, Searched } from './scrub.ts';
import type { Found } from './traces.ts';

/** A project, or everybody who used a key or signed in under a name. */
export type Subject =
  | { readonly project: string; readonly withSettings: boolean }
  /** Id of a key, or `user:` and the name of a signed-in user. */
  | { readonly payer: string };

export interface Erased {
  readonly conversations: number;
  /**
   * Number of erased originals (with their prunes and decisions), and of originals kept because others sent the same
   * text.
   */
  readonly texts: number;
  readonly texts_shared: number;
  readonly children: number;
  /** Rows with a trace of the subject, per table. */
  readonly rows: Readonly<Record<string, { readonly before: number; readonly after: number }>>;
  /** Decisions to leave texts whole. They name neither project nor person, so all were deleted. */
  readonly whole_decisions: number;
  /** Audit events in which names were replaced by the pseudonym. */
  readonly audit_events_renamed: number;
  readonly searched_again: { readonly tables: number; readonly rows: number; readonly found: number };
  readonly files: {
    readonly did: string;
    readonly bytes_searched: number;
    readonly samples: number;
    readonly found: number;
  } | null;
  /** Places that were not searched, where erased words may remain. */
  readonly not_searched: readonly string[];
  /** Whether the files were scrubbed and no trace was found afterwards. */
  readonly complete: boolean;
  /** Instructions, or tables with traces, if the erasure is incomplete; otherwise empty. */
  readonly missing: readonly string[];
}

/** Results of an erasure, apart from its plan. */
interface Done {
  readonly after: Found;
  readonly renamed: number;
  readonly whole: number;
  readonly scrubbed: Scrubbed;
  readonly samples: number;
  readonly files: Searched | null;
}

export function reportOf(plan: Plan, done: Done | null): Erased {
  const { owners, gone, shared, children, before } = plan;
  const rows = [...before.byTable].map(([table, count]) => {
    return [table, { before: count, after: done === null ? count : (done.after.byTable.get(table) ?? 0) }] as const;
  });
  const left = done?.after ?? before;
  const late = [...left.byTable].flatMap(([table, count]) =>
    before.byTable.has(table) ? [] : [[table, { before: 0, after: count }] as const],
  );
  const found = [...left.byTable.values()].reduce((sum, count) => sum + count, 0);
  const inFiles = done?.files?.found.length ?? 0;
  const tables = [...left.byTable].map(([table, count]) => `${count} rows of ${table}`);
  const missing =
    done === null
      ? []
      : [
          ...(tables.length > 0 ? [`${tables.join(', ')} still name the subject: run the command again`] : []),
          ...(done.scrubbed.remedy === undefined ? [] : [`${done.scrubbed.did}: ${done.scrubbed.remedy}`]),
          ...(inFiles > 0 ? [`${inFiles} samples of erased texts are still in the files: run the command again`] : []),
        ];
  return {
    conversations: owners.reduce((sum, { conversations }) => sum + conversations.length, 0),
    texts: gone.length,
    texts_shared: shared,
    children: children.length,
    rows: Object.fromEntries([...rows, ...late]),
    whole_decisions: done?.whole ?? 0,
    audit_events_renamed: done?.renamed ?? 0,
    searched_again: { tables: left.tables, rows: left.rows, found },
    files: done && {
      did: done.scrubbed.did,
      bytes_searched: done.files?.bytes ?? 0,
      samples: done.samples,
      found: inFiles,
    },
    not_searched: done?.scrubbed.notSearched ?? [],
    complete: done !== null && missing.length === 0,
    missing,
  };
}

export function parts<T>(items: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, i) => items.slice(i * size, (i + 1) * size));
}
