import { compact, dayName, dollarColumn, dollars } from '@mcp-pruner/ui/format.tsx';
import { Card, Table, useLoaded } from '@mcp-pruner/ui/parts/pieces.tsx';
import { count, plural } from 'mcp-pruner/base/counts.ts';
import type { LedgerDay, LedgerReport } from 'mcp-pruner/core/ports/ledger-report.ts';
import { useMemo, useState } from 'preact/hooks';
import type { LinesShown } from '../../../shapes.ts';
import { DayPlot, Legend, type Series } from '../../parts/plot.tsx';

type Unit = 'dollars' | 'tokens';
type By = 'model' | 'project';

const inputOf = ({ fresh, write5m, write1h, read }: LedgerDay): number => fresh + write5m + write1h + read;
const spentOn = (day: LedgerDay | null, unit: Unit): number =>
  day === null ? 0 : unit === 'dollars' ? day.dollars : inputOf(day);
/** What cuts saved on a day, before regret; a day that cost more than without cuts saved nothing. */
const savedOn = (day: LedgerDay | null, unit: Unit): number =>
  day === null ? 0 : Math.max(0, unit === 'dollars' ? day.gross : day.removed);
/** Number of areas with their own colour; the rest is merged. */
const MOST_AREAS = 5;

/** Daily spend, as areas by model or project, below a line for the cost without cuts. */
export function Spend({ report, days }: { report: LedgerReport; days: number }) {
  const isPriced = report.totals.requests > report.totals.unpriced;
  const [chosen, setUnit] = useState<Unit>('dollars');
  const [by, setBy] = useState<By>('model');
  const unit = isPriced ? chosen : 'tokens';
  const loaded = useLoaded<LinesShown>('lines', { days, project: report.project, by, measure: unit });
  const rows = useMemo(() => everyDay(report, days), [report, days]);
  const names = useMemo(() => rows.map(([day]) => day), [rows]);
  const isFew = rows.length < FEW_DAYS;
  const series = useMemo(
    () => [
      ...areasOf(loaded.value?.lines ?? [], rows.length),
      isFew
        ? { name: 'saved by cuts', values: rows.map(([, day]) => savedOn(day, unit)), colour: '--plot-cut' }
        : {
            name: 'without cuts',
            values: rows.map(([, day]) => spentOn(day, unit) + savedOn(day, unit)),
            colour: '--plot-cut',
            isLine: true,
          },
    ],
    [loaded.value, rows, unit, isFew],
  );
  return (
    <Card
      title={unit === 'dollars' ? 'Spend by day' : 'Input by day'}
      side={
        <div class="head-side">
          <Choice name="by" values={['model', 'project']} value={by} onChoose={setBy} legend="Split" />
          {isPriced && (
            <Choice name="unit" values={['dollars', 'tokens']} value={unit} onChoose={setUnit} legend="Unit" />
          )}
        </div>
      }
    >
      <Legend series={series} />
      <DayPlot
        days={names}
        series={series}
        kind={isFew ? 'bars' : 'areas'}
        label={dayName}
        tick={unit === 'dollars' ? dollars : compact}
        ticksOf={unit === 'dollars' ? dollarColumn : undefined}
      />
      <details class="as-table">
        <summary>The same as a table</summary>
        <DayTable rows={rows} />
      </details>
    </Card>
  );
}

function Choice<T extends string>({
  name,
  legend,
  values,
  value,
  onChoose,
}: {
  name: string;
  legend: string;
  values: readonly T[];
  value: T;
  onChoose: (value: T) => void;
}) {
  return (
    <fieldset class="choice">
      <legend class="unseen">{legend}</legend>
      {values.map((one) => (
        <label key={one}>
          <input type="radio" name={name} checked={value === one} onChange={() => onChoose(one)} />
          <span>{one.charAt(0).toUpperCase() + one.slice(1)}</span>
        </label>
      ))}
    </fieldset>
  );
}

/** @param days - number of newest days shown */
function areasOf(lines: LinesShown['lines'], days: number): Series[] {
  const areas = lines.slice(0, MOST_AREAS).map(
    ({ key, values }, i): Series => ({
      name: key === '' ? 'unknown' : key,
      values: values.slice(-days),
      colour: `--area-${i + 1}`,
    }),
  );
  const rest = lines.slice(MOST_AREAS);
  if (rest.length === 0) return areas;
  const values = Array.from({ length: days }, (_, day) =>
    rest.reduce((sum, line) => sum + (line.values.slice(-days)[day] ?? 0), 0),
  );
  return [...areas, { name: plural(rest.length, 'other'), values, colour: '--area-6' }];
}

/** Daily input: cache reads, new input, and cache misses. */
export function Cache({ report, days }: { report: LedgerReport; days: number }) {
  const rows = useMemo(() => everyDay(report, days), [report, days]);
  const names = useMemo(() => rows.map(([day]) => day), [rows]);
  const series = useMemo(() => {
    const valuesOf = (what: (day: LedgerDay) => number) =>
      rows.map(([, day]) => (day === null ? 0 : Math.max(0, what(day))));
    const fresh = (day: LedgerDay): number => day.fresh + day.write5m + day.write1h;
    return [
      { name: 'read from the cache', values: valuesOf(({ read }) => read), colour: '--plot-read' },
      { name: 'missed', values: valuesOf((day) => Math.min(fresh(day), day.missTokens)), colour: '--plot-bad' },
      {
        name: 'new',
        values: valuesOf((day) => fresh(day) - Math.min(fresh(day), day.missTokens)),
        colour: '--plot-new',
      },
    ];
  }, [rows]);
  return (
    <Card title="Cache by day">
      <Legend series={series} />
      <DayPlot days={names} series={series} kind="bars" label={dayName} tick={compact} />
    </Card>
  );
}

/** Fewer days are drawn as bars: an area needs two points, and would grow from nothing on the day before. */
const FEW_DAYS = 4;

/** Each day from the first one with requests, oldest first; `null` for a day without requests. */
function everyDay({ sinceDay, days: found }: LedgerReport, days: number): [string, LedgerDay | null][] {
  const byDay = new Map(found.map((day) => [day.day, day]));
  const firstMs = Date.parse(`${sinceDay}T00:00:00Z`);
  const all = Array.from({ length: days }, (_, i): [string, LedgerDay | null] => {
    const day = new Date(firstMs + i * 86_400_000).toISOString().slice(0, 10);
    return [day, byDay.get(day) ?? null];
  });
  const first = all.findIndex(([, day]) => day !== null && day.requests > 0);
  return all.slice(Math.max(0, first));
}

const DAY_HEADS = [
  'Day',
  ...['Requests', 'Billed', 'Saved, net', 'Regret', 'Input', 'From cache', 'Removed'].map((amount) => ({ amount })),
];

function DayTable({ rows }: { rows: readonly (readonly [string, LedgerDay | null])[] }) {
  const columnOf = (what: (day: LedgerDay) => number) => {
    const words = dollarColumn(rows.flatMap(([, day]) => (day === null ? [] : what(day))));
    return (day: LedgerDay | null): string =>
      day !== null && day.requests > 0 && day.requests === day.unpriced ? '–' : words(day === null ? 0 : what(day));
  };
  const billed = columnOf(({ dollars }) => dollars);
  const net = columnOf((day) => day.net);
  const regret = columnOf(({ regretDollars }) => regretDollars);
  return (
    <Table label="By day" heads={DAY_HEADS}>
      {rows.map(([name, day]) => (
        <tr key={name}>
          <th scope="row">{name}</th>
          <td class="amount">{count(day?.requests ?? 0)}</td>
          <td class="amount">{billed(day)}</td>
          <td class="amount">{net(day)}</td>
          <td class="amount">{regret(day)}</td>
          <td class="amount">{count(day ? inputOf(day) : 0)}</td>
          <td class="amount">{count(day?.read ?? 0)}</td>
          <td class="amount">{count(day?.removed ?? 0)}</td>
        </tr>
      ))}
    </Table>
  );
}
