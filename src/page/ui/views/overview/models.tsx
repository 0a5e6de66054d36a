import type { LedgerModel } from '../../../../core/ports/ledger.ts';
import { compact, dollars, number } from '../../format.tsx';
import { Card, Table } from '../../parts/pieces.tsx';

/** What each model cost and what was saved on it. */
export function Models({ models }: { models: readonly LedgerModel[] }) {
  return (
    <Card title="By model" flush>
      <Table
        label="By model"
        heads={['Model', { amount: 'Requests' }, { amount: 'Billed' }, { amount: 'Saved, net' }, { amount: 'Removed' }]}
      >
        {models.map(({ model, requests, unpriced, dollars: bill, net, removed }) => {
          const isPriced = requests > unpriced;
          return (
            <tr key={model}>
              <th scope="row" class="breaks">
                {model === '' ? 'unknown' : model}
              </th>
              <td class="amount">{number(requests)}</td>
              <td class="amount">{isPriced ? dollars(bill) : <span class="quiet">no price</span>}</td>
              <td class="amount">{isPriced ? dollars(net) : '–'}</td>
              <td class="amount">{compact(removed)}</td>
            </tr>
          );
        })}
      </Table>
    </Card>
  );
}
