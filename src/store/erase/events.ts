import { change, each, type Rows, type Sql } from '../sql/steps.ts';
import { hasTrace, type Traces } from './traces.ts';

interface EventRow {
  readonly [column: string]: string | number | null;
  readonly seq: number;
  readonly audit: number;
  readonly run_id: string;
  readonly child_id: string | null;
  readonly project: string | null;
  readonly payload: string;
}

const PAGE = 500;

/** Child agents that sent requests in the given conversations. */
export async function childrenOf(rows: Rows, conversations: readonly string[]): Promise<readonly string[]> {
  const found = await rows.all<{ child_id: string }>(
    'SELECT DISTINCT child_id FROM main.event WHERE child_id IS NOT NULL AND run_id IN LIST(?)',
    [conversations],
  );
  return found.map(({ child_id }) => child_id);
}

/**
 * Deletes events with a trace. Audit events are kept as evidence, with names replaced by a pseudonym. @returns the
 * number of renamed audit events
 */
export async function eraseEvents(sql: Sql, traces: Traces, pseudonym: string): Promise<number> {
  let renamed = 0;
  for (let after = 0; ; ) {
    const page = await sql.all<EventRow>(
      `SELECT seq, audit, run_id, child_id, project, payload FROM main.event WHERE seq > ? ORDER BY seq LIMIT ${PAGE}`,
      [after],
    );
    const found = page.filter((row) => hasTrace('event', row, traces));
    const gone = found.filter(({ audit }) => Number(audit) === 0).map(({ seq }) => seq);
    const kept = found.filter(({ audit }) => Number(audit) === 1);
    if (found.length > 0) {
      await sql.write(function* () {
        yield* change('DELETE FROM main.event WHERE seq IN LIST(?)', [gone]);
        yield* each(
          'UPDATE main.event SET run_id = ?, child_id = NULL, project = ?, payload = ? WHERE seq = ?',
          kept.map((row) => renamedRow(row, traces, pseudonym)),
        );
      });
    }
    renamed += kept.length;
    after = Number(page.at(-1)?.seq ?? 0);
    if (page.length < PAGE) return renamed;
  }
}

function renamedRow({ seq, run_id, project, payload }: EventRow, traces: Traces, pseudonym: string) {
  const nameOf = (value: string): string => (isTrace(value, traces) ? pseudonym : value);
  const renamed = JSON.stringify(JSON.parse(payload), (key, value: unknown) => {
    if (typeof value !== 'string') return value;
    // a key may have the name of a person
    return key === 'name' && traces.payer !== null ? pseudonym : nameOf(value);
  });
  return [nameOf(run_id), project === traces.project ? null : project, renamed, seq];
}

function isTrace(value: string, { ids, project, payer }: Traces): boolean {
  return value === project || value === payer || (value.match(/\w{8,}/g) ?? []).some((word) => ids.has(word));
}
