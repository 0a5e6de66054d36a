import { useMemo, useState } from 'preact/hooks';
import type { LedgerDay, LedgerReport } from '../../../../core/ports/ledger.ts';
import { compact, dayName, dollars, number } from '../../format.tsx';
import { Card, Table } from '../../parts/pieces.tsx';
import { DayBars, Legend } from '../../parts/plot.tsx';

type Unit = 'dollars' | 'tokens';

const inputOf = ({ fresh, write5m, write1h, read }: LedgerDay): number => fresh + write5m + write1h + read;

/** What was billed and what was saved, day by day, in dollars or tokens. */
export function ByDay({ report, days }: { report: LedgerReport; days: number }) {
  const isPriced = report.totals.requests > report.totals.unpriced;
  const [chosen, setUnit] = useState<Unit>('dollars');
  const unit = isPriced ? chosen : 'tokens';
  const rows = useMemo(() => everyDay(report, days), [report, days]);
  const names = useMemo(() => rows.map(([day]) => day), [rows]);
  const series = useMemo(
    () =>
      unit === 'dollars'
        ? [
            { name: 'billed', values: rows.map(([, day]) => day?.dollars ?? 0), colour: '--plot-kept' },
            { name: 'saved, net', values: rows.map(([, day]) => Math.max(0, day?.net ?? 0)), colour: '--plot-cut' },
            { name: 'regret', values: rows.map(([, day]) => day?.regretDollars ?? 0), colour: '--plot-bad' },
          ]
        : [
            { name: 'input', values: rows.map(([, day]) => (day ? inputOf(day) : 0)), colour: '--plot-kept' },
            { name: 'removed', values: rows.map(([, day]) => day?.removed ?? 0), colour: '--plot-cut' },
          ],
    [rows, unit],
  );
  return (
    <Card
      title="By day"
      side={
        <div class="head-side">
          <Legend series={series} />
          {isPriced && (
            <fieldset class="choice">
              <legend class="unseen">Unit</legend>
              {(['dollars', 'tokens'] as const).map((one) => (
                <label key={one}>
                  <input type="radio" name="unit" checked={unit === one} onChange={() => setUnit(one)} />
                  <span>{one === 'dollars' ? 'Dollars' : 'Tokens'}</span>
                </label>
              ))}
            </fieldset>
          )}
        </div>
      }
    >
      <DayBars days={names} series={series} label={dayName} tick={unit === 'dollars' ? dollars : compact} />
      <details class="as-table">
        <summary>The same as a table</summary>
        <DayTable rows={rows} />
      </details>
    </Card>
  );
}

/** Each day of the span, oldest first; `null` where nothing came. */
function everyDay({ sinceDay, days: found }: LedgerReport, days: number): [string, LedgerDay | null][] {
  const byDay = new Map(found.map((day) => [day.day, day]));
  const firstMs = Date.parse(`${sinceDay}T00:00:00Z`);
  return Array.from({ length: days }, (_, i) => {
    const day = new Date(firstMs + i * 86_400_000).toISOString().slice(0, 10);
    return [day, byDay.get(day) ?? null];
  });
}

const DAY_HEADS = [
  'Day',
  ...['Requests', 'Billed', 'Saved, net', 'Regret', 'Input', 'Removed'].map((amount) => ({ amount })),
];

function DayTable({ rows }: { rows: readonly (readonly [string, LedgerDay | null])[] }) {
  return (
    <Table label="By day" heads={DAY_HEADS}>
      {rows.map(([name, day]) => (
        <tr key={name}>
          <th scope="row">{name}</th>
          <td class="amount">{number(day?.requests ?? 0)}</td>
          <td class="amount">{dollars(day?.dollars ?? 0)}</td>
          <td class="amount">{dollars(day?.net ?? 0)}</td>
          <td class="amount">{dollars(day?.regretDollars ?? 0)}</td>
          <td class="amount">{number(day ? inputOf(day) : 0)}</td>
          <td class="amount">{number(day?.removed ?? 0)}</td>
        </tr>
      ))}
    </Table>
  );
}
