import { dollarColumn } from '@mcp-pruner/ui/format.tsx';
import { Card, Table, useLoaded } from '@mcp-pruner/ui/parts/pieces.tsx';
import { count } from 'mcp-pruner/base/counts.ts';
import type { LedgerReport, LedgerTotals } from 'mcp-pruner/core/ports/ledger-report.ts';
import type { LinesShown } from '../../../shapes.ts';
import { Spark } from '../../parts/plot.tsx';
import { toFiltered } from '../../route.tsx';

const MOST_ROWS = 12;

export function Parts({ report, by, days }: { report: LedgerReport; by: 'model' | 'project'; days: number }) {
  const measure = report.totals.requests > report.totals.unpriced ? 'dollars' : 'tokens';
  const lines = useLoaded<LinesShown>('lines', { days, project: report.project, by, measure });
  const values = new Map(lines.value?.lines.map((line) => [line.key, line.values]));
  const title = by === 'model' ? 'By model' : 'By project';
  const rows: readonly (readonly [string, LedgerTotals])[] =
    by === 'model' ? report.models.map((one) => [one.model, one]) : report.projects.map((one) => [one.project, one]);
  const spent = dollarColumn(rows.map(([, one]) => one.dollars));
  const saved = dollarColumn(rows.map(([, one]) => one.net));
  return (
    <Card title={title} flush>
      <Table
        label={title}
        heads={[
          by === 'model' ? 'Model' : 'Project',
          { amount: 'Requests' },
          { amount: 'Billed' },
          { amount: 'Saved, net' },

          { amount: 'By day' },
        ]}
      >
        {rows.slice(0, MOST_ROWS).map(([key, { requests, unpriced, dollars: bill, net }]) => {
          const isPriced = requests > unpriced;
          return (
            <tr key={key}>
              <th scope="row" class="breaks">
                {key === '' ? 'unknown' : <a href={toFiltered('conversations', { [by]: key })}>{key}</a>}
              </th>
              <td class="amount">{count(requests)}</td>
              <td class="amount">{isPriced ? spent(bill) : <span class="quiet">no price</span>}</td>
              <td class="amount">{isPriced ? saved(net) : '–'}</td>
              <td class="amount">
                <Spark values={values.get(key)} />
              </td>
            </tr>
          );
        })}
      </Table>
    </Card>
  );
}
