import { dollars } from '@mcp-pruner/ui/format.tsx';
import type { PartPieces } from '@mcp-pruner/ui/part-view.tsx';
import { Card, Table, Time, useLoaded } from '@mcp-pruner/ui/parts/pieces.tsx';
import { count, plural } from 'mcp-pruner/base/counts.ts';
import { compactionWords } from 'mcp-pruner/core/ports/seams-report.ts';
import type { ConversationShown, MonthShown } from '../shapes.ts';

/** What finished work costs and what summaries of it saved: lines of the overview, and a row for each summary. */
export const seamPieces: PartPieces = { Overview: Month, Conversation: Summaries };

/** Smaller amounts are not worth a line, in dollars. */
const LEAST_DOLLARS = 0.5;

function Month() {
  const { value } = useLoaded<Partial<MonthShown>>('seams');
  const { finished = 0, dollars: all = 0, compactions, payback } = value ?? {};
  const made = compactions && payback ? compactionWords(compactions, payback, dollars) : '';
  return (
    <>
      {finished >= LEAST_DOLLARS && (
        <p class="quiet notes">
          Finished work: {dollars(finished)} of {dollars(all)} this month was paid to send it again.{' '}
          <code>mcp-pruner report --sessions</code> simulates what compacting would have saved.
        </p>
      )}
      {made !== '' && <p class="quiet notes">{made}.</p>}
    </>
  );
}

type SummaryShown = ConversationShown['summaries'][number];

function Summaries({ name }: { readonly name: string }) {
  const { value } = useLoaded<Partial<ConversationShown>>('seams', { conversation: name });
  const summaries = value?.summaries ?? [];
  if (summaries.length === 0) return null;
  return (
    <Card title="Summaries of finished work">
      <Table
        label="Summaries of finished work"
        heads={['When', 'Summary', { amount: 'Tokens' }, { amount: 'Price' }, { amount: 'Saved' }, 'Paid back']}
      >
        {summaries.map((one) => (
          <tr key={one.atMs}>
            <td>
              <Time ms={one.atMs} />
            </td>
            <td>{one.outcome}</td>
            <td class="amount">{count(one.tokens)}</td>
            <td class="amount">{dollars(one.dollars)}</td>
            <td class="amount">{one.replaced === 0 ? '-' : dollars(one.saved)}</td>
            <td>{paidBack(one)}</td>
          </tr>
        ))}
      </Table>
      <p class="quiet notes">
        Saved is estimated: tokens replaced, at the cached price. The price of the summary is not subtracted.
      </p>
    </Card>
  );
}

function paidBack({ replaced, after, isOver }: SummaryShown): string {
  if (replaced === 0) return '-';
  if (after !== null) return `after ${plural(after, 'request')}`;
  return isOver ? 'never' : 'not yet';
}
