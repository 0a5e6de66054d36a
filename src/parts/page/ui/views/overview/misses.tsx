import { compact, dollarColumn, dollars, share } from '../../../../../app/page/ui/format.tsx';
import { Card, Table } from '../../../../../app/page/ui/parts/pieces.tsx';
import { count } from '../../../../../base/counts.ts';
import type { ColdFigures } from '../../../../../core/ports/compactions.ts';
import type { MissCause } from '../../../../../core/ports/ledger.ts';
import type { LedgerMiss } from '../../../../../core/ports/ledger-report.ts';

/** The meaning of each cause, and the remedy. */
export const CAUSES: Readonly<Record<MissCause, readonly [name: string, about: string]>> = {
  first_request: ['first request', 'nothing was in the cache yet'],
  expired: [
    'expired',
    'the pause was longer than the cache lifetime: a lifetime of an hour costs more to write and may pay off',
  ],
  model_changed: ['model changed', 'each model has a cache of its own'],
  tools_changed: ['tools changed', 'the client sent another list of tools'],
  system_changed: ['system prompt changed', 'the client sent another system prompt'],
  message_changed: ['past changed', 'the client changed a message that was sent before'],
  compacted: ['began with a summary', 'the first request after a compaction: all of it was new to the cache'],
  put_aside: ['put aside', 'old results were put aside or put back, as asked: later turns are cheaper'],
  changed_by_us: ['changed by mcp-pruner', 'a fault: please report it with the log'],
  unknown: ['unknown', 'the provider did not read what it could have'],
};

/** Causes of cache misses, often the largest possible saving besides pruning. */
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
                <span class={miss.cause === 'changed_by_us' ? 'goes' : ''}>{CAUSES[miss.cause][0]}</span>
                <span class="quiet small"> · {CAUSES[miss.cause][1]}</span>
              </th>
              <td class="amount">{count(miss.requests)}</td>
              <td class="amount">{compact(miss.tokens)}</td>
              <td class="amount">{cost(miss.dollars)}</td>
              <td class="amount">{share(miss.dollars, bill)}</td>
            </tr>
          ))}
        </Table>
      )}
      {cold && cold.requests > 0 && <HourCache cold={cold} />}
    </Card>
  );
}

/** Effect of a longer cache lifetime with the user's pauses, and how to set it if it pays. */
function HourCache({ cold: { hour_cache: hour } }: { cold: ColdFigures }) {
  return (
    <p class="quiet small">
      A cache lifetime of an hour would have cost {dollars(hour.cost)} and saved {dollars(hour.saved)}.
      {hour.saved > hour.cost && (
        <>
          {' '}
          In Claude Code <code>ENABLE_PROMPT_CACHING_1H=1</code> sets it.
        </>
      )}
    </p>
  );
}
