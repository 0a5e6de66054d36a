import { clock, compact, dollarColumn } from '@mcp-pruner/ui/format.tsx';
import { Badge, Table, Time } from '@mcp-pruner/ui/parts/pieces.tsx';
import { missWords } from 'mcp-pruner/core/miss-causes.ts';
import { useState } from 'preact/hooks';
import type { TurnShown } from '../../shapes.ts';

const HEADS = [
  'Time',
  'Model',
  ...['Cost', 'Saved', 'New input', 'From cache', 'Cut'].map((amount) => ({ amount })),
  'Cache',
];

export function AsTable({ turns }: { turns: readonly TurnShown[] }) {
  const [open, setOpen] = useState(false);
  return (
    <details class="as-table" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>The same as a table</summary>
      {open && <TurnTable turns={turns} />}
    </details>
  );
}

function TurnTable({ turns }: { turns: readonly TurnShown[] }) {
  const costs = dollarColumn(turns.flatMap(({ dollars }) => dollars ?? []));
  const savings = dollarColumn(turns.flatMap((turn) => savedIn(turn) ?? []));
  return (
    <Table label="What its requests cost" heads={HEADS}>
      {turns.map((turn) => {
        const { requestId, atMs, model, dollars: cost, fresh, read, removed, miss } = turn;
        const saved = savedIn(turn);
        return (
          <tr key={requestId}>
            <td>
              <Time ms={atMs}>{clock(atMs)}</Time>
            </td>
            <th scope="row" class="breaks">
              {model}
            </th>
            <td class="amount">{cost === null ? <span class="quiet">no price</span> : costs(cost)}</td>
            <td class="amount">{saved === null ? '–' : savings(saved)}</td>
            <td class="amount">
              {compact(fresh + writtenIn(turn))}
              {turn.estimated && <span class="quiet"> est.</span>}
              {turn.odd && <span class="quiet"> odd</span>}
            </td>
            <td class="amount">{compact(read)}</td>
            <td class="amount">{compact(removed)}</td>
            <td>
              {miss === null ? (
                <span class="quiet">full hit</span>
              ) : (
                <Badge tone={miss === 'first_request' ? '' : 'warn'}>
                  {missText(miss, turn.missTokens, turn.missAt)}
                </Badge>
              )}
            </td>
          </tr>
        );
      })}
    </Table>
  );
}

/** What cuts saved in a request, less what was needed later; `null` without a price. */
function savedIn({ dollars, dollarsWithout, regretDollars }: TurnShown): number | null {
  return dollars === null || dollarsWithout === null ? null : dollarsWithout - dollars - (regretDollars ?? 0);
}

export const writtenIn = ({ write5m, write1h }: TurnShown): number => write5m + write1h;

export function missText(miss: string, missTokens: number, missAt: number): string {
  const where = missAt >= 0 ? ` (message ${missAt})` : '';
  return missTokens > 0
    ? `cache missed ${compact(missTokens)}: ${missWords(miss).name}${where}`
    : `${missWords(miss).name}${where}`;
}
