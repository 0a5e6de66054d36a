import { compact, dollarColumn } from '@mcp-pruner/ui/format.tsx';
import { Card, Table } from '@mcp-pruner/ui/parts/pieces.tsx';
import { count } from 'mcp-pruner/base/counts.ts';
import { type Difference, type HoldoutResult, isTelling, undecidedWords } from 'mcp-pruner/core/ports/ledger-report.ts';

export function Holdout({ holdout }: { holdout: HoldoutResult | null }) {
  return (
    <Card title="Against a control group">
      {holdout === null ? (
        <p class="quiet">
          No conversation is held out. With <code>MCP_PRUNER_HOLDOUT=0.1</code> one in ten stays unpruned from its first
          request on, so that the effect of pruning is measured instead of estimated.
        </p>
      ) : (
        <Result holdout={holdout} />
      )}
    </Card>
  );
}

function signed(value: number, unit: (value: number) => string): string {
  return value > 0 ? `+${unit(value)}` : unit(value).replace('-', '−');
}

function Result({ holdout }: { holdout: HoldoutResult }) {
  const { conversations, enough, method, plan, dollarsPerConversation, dollarsPerTurn, turns, withoutCuts } = holdout;
  const { outputTokens, regretTokens, recoveries, compactions } = holdout;
  const tenths = (value: number): string => (Math.round(value * 10) / 10).toString();
  const costs = [dollarsPerConversation, dollarsPerTurn, withoutCuts];
  const cost = dollarColumn(costs.flatMap(({ pruned, control, difference }) => [pruned, control, difference]));
  const rows: readonly (readonly [string, Difference, (value: number) => string])[] = [
    ['Cost of a conversation', dollarsPerConversation, cost],
    ['Cost of a request', dollarsPerTurn, cost],
    ['Requests', turns, tenths],
    ['Cost without cuts', withoutCuts, cost],
    ['Output tokens', outputTokens, compact],
    ['Regretted tokens', regretTokens, compact],
    ['Recoveries', recoveries, (value) => value.toFixed(2)],
    ['Compactions', compactions, (value) => value.toFixed(2)],
  ];
  return (
    <>
      <p class="quiet small">
        {count(conversations.pruned)} pruned conversations, {count(conversations.control)} left whole.
        {enough
          ? ' Below each difference: the interval that holds the true one in 95 of 100 experiments. If a few conversations outweigh all others, more conversations are needed.'
          : ''}
        {method === 'pairs' &&
          ' Apart from the cuts, no difference between the groups was found, so each pruned conversation is compared with its own bill without cuts. The row "Requests" shows whether conversations got longer.'}
        {plan.more !== null &&
          plan.more > 0 &&
          ` About ${count(plan.more)} more conversations would decide the comparison, with MCP_PRUNER_HOLDOUT=${plan.share}${plan.days === null ? '' : `, in about ${count(plan.days)} days`}.`}
      </p>
      <Table
        label="Against a control group"
        heads={['Mean', { amount: 'Pruned' }, { amount: 'Whole' }, { amount: 'Difference' }]}
        tight
      >
        {rows
          .filter(([, of], i) => i === 0 || isTelling(of))
          .map(([name, { pruned, control, difference, interval, tooSkewed }, unit]) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td class="amount">{unit(pruned)}</td>
              <td class="amount">{unit(control)}</td>
              <td class="amount">
                {signed(difference, unit)}
                <br />
                <span class="quiet small">
                  {interval === null
                    ? undecidedWords(tooSkewed)
                    : `${signed(interval[0], unit)} to ${signed(interval[1], unit)}`}
                </span>
              </td>
            </tr>
          ))}
      </Table>
    </>
  );
}
