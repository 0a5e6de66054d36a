import { compact, dollarColumn, dollars, share } from '@mcp-pruner/ui/format.tsx';
import { Card, Table } from '@mcp-pruner/ui/parts/pieces.tsx';
import { count } from 'mcp-pruner/base/counts.ts';
import { missAction, missWords } from 'mcp-pruner/core/miss-causes.ts';
import type { ColdFigures } from 'mcp-pruner/core/ports/compactions.ts';
import type { LedgerMiss } from 'mcp-pruner/core/ports/ledger-report.ts';

export function Misses({
  misses,
  bill,
  cold,
}: {
  misses: readonly LedgerMiss[];
  bill: number;
  cold: ColdFigures | undefined;
}) {
  const cost = dollarColumn(misses.map((miss) => miss.dollars));
  return (
    <Card title="Why the cache missed" flush>
      {misses.length === 0 ? (
        <p class="quiet">No cache miss was found.</p>
      ) : (
        <Table
          label="Why the cache missed"
          heads={[
            'Cause',
            { amount: 'Requests' },
            { amount: 'Tokens' },
            { amount: 'Dollars' },
            { amount: 'of the bill' },
          ]}
        >
          {misses.map((miss) => (
            <tr key={miss.cause}>
              <th scope="row">
                <span class={miss.cause === 'changed_by_us' ? 'goes' : ''}>{missWords(miss.cause).name}</span>
                <span class="quiet small"> · {missWords(miss.cause).about}</span>
                <Action words={missAction(miss.cause, cold, dollars)} />
              </th>
              <td class="amount">{count(miss.requests)}</td>
              <td class="amount">{compact(miss.tokens)}</td>
              <td class="amount">{cost(miss.dollars)}</td>
              <td class="amount">{share(miss.dollars, bill)}</td>
            </tr>
          ))}
        </Table>
      )}
    </Card>
  );
}

function Action({ words }: { words: string }) {
  return words === '' ? null : (
    <>
      <br />
      <span class="small">{words}</span>
    </>
  );
}
