import { Card, Table } from '../../../../../app/page/ui/parts/pieces.tsx';
import { count } from '../../../../../base/counts.ts';
import {
  type LedgerReport,
  undecidedWords,
  type WorkMeasure,
  type WorkRate,
} from '../../../../../core/ports/ledger-report.ts';

/** Work progress in pruned and in unpruned conversations. */
export function Work({ work }: Pick<LedgerReport, 'work'>) {
  if (work.length === 0) return null;
  return (
    <Card title="How the work goes">
      <p class="quiet small">
        Counted in requests; no text is kept. Below each rate, if there is enough data: the interval that holds the true
        rate in 95 of 100 cases.
      </p>
      <Table
        label="How the work goes"
        heads={['Measure', { amount: 'Pruned' }, { amount: 'Whole' }, { amount: 'Difference' }]}
        tight
      >
        {work.map((measure) => (
          <tr key={measure.name}>
            <th scope="row">{measure.words}</th>
            <Rate measure={measure} of={measure.pruned} />
            <Rate measure={measure} of={measure.control} />
            <td class="amount">
              {measure.difference?.interval
                ? range(measure.difference.interval, measure)
                : undecidedWords(measure.difference !== null)}
            </td>
          </tr>
        ))}
      </Table>
    </Card>
  );
}

function Rate({ measure, of: { part, whole, rate, interval } }: { measure: WorkMeasure; of: WorkRate }) {
  if (rate === null) return <td class="amount">–</td>;
  return (
    <td class="amount" title={`${count(part)} of ${count(whole)}`}>
      {shown(rate, measure)}
      {interval !== null && (
        <>
          <br />
          <span class="quiet small">{range(interval, measure)}</span>
        </>
      )}
    </td>
  );
}

function shown(value: number, { isShare }: WorkMeasure): string {
  const text = isShare ? `${(100 * value).toFixed(1)} %` : value.toFixed(2);
  return text.replace('-', '−');
}

function range([low, high]: readonly [number, number], measure: WorkMeasure): string {
  return `${shown(low, measure)} to ${shown(high, measure)}`;
}
