import { Card, Table } from '../../../../../app/page/ui/parts/pieces.tsx';
import { leftWholeAmount, leftWholeWords } from '../../../../../core/left-whole.ts';
import type { LeftWhole } from '../../../../../core/ports/ledger-report.ts';

/** Why new results were left whole. */
export function LeftWholeCard({ reasons }: { reasons: readonly LeftWhole[] }) {
  if (reasons.length === 0) return null;
  return (
    <Card title="Why results were left whole" flush>
      <Table label="Why results were left whole" heads={['Reason', { amount: 'Texts' }]}>
        {reasons.map((left) => (
          <tr key={left.reason}>
            <th scope="row">{leftWholeWords(left.reason)}</th>
            <td class="amount">{leftWholeAmount(left)}</td>
          </tr>
        ))}
      </Table>
    </Card>
  );
}
