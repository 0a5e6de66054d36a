import { useState } from 'preact/hooks';
import type { LedgerTurn } from '../../../core/ports/ledger.ts';
import { Failure, get, words } from '../api.tsx';
import { clock, compact, dollars } from '../format.tsx';
import { CAUSES } from '../views/overview/misses.tsx';
import { Show, Trouble, useLoaded } from './loaded.tsx';
import { Badge, Table, Time } from './pieces.tsx';

interface Page {
  readonly turns: readonly LedgerTurn[];
  readonly more: boolean;
}

/** What each request of a conversation cost, and why its cache missed. Read when it is opened. */
export function Bill({ conversation }: { conversation: string }) {
  const [open, setOpen] = useState(false);
  return (
    <details class="bill" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>What its requests cost</summary>
      {open && <Turns conversation={conversation} />}
    </details>
  );
}

function Turns({ conversation }: { conversation: string }) {
  const first = useLoaded<Page>('turns', { name: conversation });
  const [later, setLater] = useState<readonly Page[]>([]);
  const [failure, setFailure] = useState<Failure | null>(null);
  return (
    <Show of={first}>
      {(page) => {
        const pages = [page, ...later];
        const turns = pages.flatMap((one) => one.turns);
        const more = (): void => {
          get<Page>('turns', { name: conversation, after: turns.at(-1)?.requestId }).then(
            (next) => setLater([...later, next]),
            (cause: unknown) => setFailure(cause instanceof Failure ? cause : new Failure(0, 'unknown', words(cause))),
          );
        };
        if (turns.length === 0) return <p class="quiet">None of its requests is in the ledger.</p>;
        return (
          <>
            <Table
              label="What its requests cost"
              heads={[
                'Time',
                'Model',
                { amount: 'Cost' },
                { amount: 'Saved' },
                { amount: 'New input' },
                { amount: 'From cache' },
                'Cache',
              ]}
            >
              {turns.map((turn) => (
                <Turn key={turn.requestId} turn={turn} />
              ))}
            </Table>
            {failure && <Trouble failure={failure} />}
            {(pages.at(-1)?.more ?? false) && (
              <button type="button" class="more" onClick={more}>
                Later requests
              </button>
            )}
          </>
        );
      }}
    </Show>
  );
}

function Turn({ turn }: { turn: LedgerTurn }) {
  const { atMs, model, dollars: cost, dollarsWithout, fresh, write5m, write1h, read, miss, missAt, estimated } = turn;
  return (
    <tr>
      <td>
        <Time ms={atMs}>{clock(atMs)}</Time>
      </td>
      <th scope="row" class="breaks">
        {model}
      </th>
      <td class="amount">{cost === null ? <span class="quiet">no price</span> : dollars(cost)}</td>
      <td class="amount">{cost === null || dollarsWithout === null ? '–' : dollars(dollarsWithout - cost)}</td>
      <td class="amount">
        {compact(fresh + write5m + write1h)}
        {estimated && <span class="quiet"> est.</span>}
      </td>
      <td class="amount">{compact(read)}</td>
      <td>
        {miss === null ? (
          <span class="quiet">as it could be</span>
        ) : (
          <Badge tone={miss === 'first_request' ? '' : 'warn'}>
            {CAUSES[miss][0]}
            {missAt >= 0 ? ` (message ${missAt})` : ''}
          </Badge>
        )}
      </td>
    </tr>
  );
}
