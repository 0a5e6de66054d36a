import { useState } from 'preact/hooks';
import { clock, compact, number } from '../../../page/ui/format.tsx';
import { Show, useLoaded } from '../../../page/ui/parts/loaded.tsx';
import { Badge, Card, Empty, Head, Scroll, Table, Time } from '../../../page/ui/parts/pieces.tsx';
import type { ChildLogShown, ChildShown, FleetShown } from '../page-shapes.ts';

/** Children, graphs, the blackboard and plans that are under way. */
export function FleetView() {
  const fleet = useLoaded<FleetShown | { readonly off: true }>('fleet');
  return (
    <>
      <Head title="Fleet" about="Agents that were started here, and what they share.">
        <button type="button" data-refresh onClick={fleet.reload}>
          Refresh
        </button>
      </Head>
      <Show of={fleet}>
        {(now) =>
          'off' in now ? (
            <Empty title="The fleet is off">
              <p>
                <code>mcp-pruner serve --enable-fleet</code> switches it on.
              </p>
            </Empty>
          ) : (
            <Fleet fleet={now} />
          )
        }
      </Show>
    </>
  );
}

function Fleet({ fleet: { children, graphs, namespaces, plans } }: { fleet: FleetShown }) {
  return (
    <>
      <Card title="Children">
        {children.length === 0 ? (
          <p class="quiet">None was started yet: child_create starts one.</p>
        ) : (
          <ul class="rows inner">
            {children.map((child) => (
              <Child key={child.childId} child={child} />
            ))}
          </ul>
        )}
      </Card>
      <Card title="Plans under way">
        {plans.length === 0 && <p class="quiet">None.</p>}
        {plans.map(({ runId, mode, state, progress }) => (
          <p key={runId}>
            <code>{runId}</code> {mode}, {state}, {Math.round(progress * 100)} %
          </p>
        ))}
      </Card>
      <div class="two">
        <Card title="Graphs" flush>
          <Table label="Graphs" heads={['Graph', { amount: 'Version' }, 'Committed']}>
            {graphs.map(({ graphId, version, committedMs }) => (
              <tr key={graphId}>
                <th scope="row" class="breaks">
                  {graphId}
                </th>
                <td class="amount">{number(version)}</td>
                <td>
                  <Time ms={committedMs} />
                </td>
              </tr>
            ))}
          </Table>
        </Card>
        <Card title="Blackboard" flush>
          <Table label="Blackboard" heads={['Namespace', { amount: 'Entries' }, 'Changed']}>
            {namespaces.map(({ namespace, entries, updatedMs }) => (
              <tr key={namespace}>
                <th scope="row" class="breaks">
                  {namespace}
                </th>
                <td class="amount">{number(entries)}</td>
                <td>
                  <Time ms={updatedMs} />
                </td>
              </tr>
            ))}
          </Table>
        </Card>
      </div>
    </>
  );
}

const TONES: Readonly<Record<string, string>> = { running: 'good', error: 'bad', killed: 'bad', lost: 'bad' };

function Child({ child }: { child: ChildShown }) {
  const [open, setOpen] = useState(false);
  const { childId, state, what, role, createdMs, stopReason, messages, tokensIn, tokensOut } = child;
  return (
    <li>
      <div class="text-foot">
        <Badge tone={TONES[state] ?? ''}>{state}</Badge>
        <b class="breaks">{role ?? what}</b>
        <code class="quiet">{childId}</code>
        <span class="quiet">
          {number(messages)} requests, {compact(tokensIn)} + {compact(tokensOut)} tokens
          {stopReason === null ? '' : `, ended: ${stopReason}`}
        </span>
        <span class="quiet far">
          <Time ms={createdMs} />
        </span>
        <button type="button" aria-expanded={open} onClick={() => setOpen(!open)}>
          {open ? 'Close' : 'Output'}
        </button>
      </div>
      {open && <Output id={childId} />}
    </li>
  );
}

function Output({ id }: { id: string }) {
  const log = useLoaded<ChildLogShown>('child-log', { id });
  return (
    <Show of={log}>
      {({ lines }) => (
        <Scroll label={`Output of ${id}`}>
          <div class="lines">
            {lines.length === 0 && <p class="quiet">It has said nothing yet.</p>}
            {lines.map(({ seq, atMs, stream, text }) => (
              <div class="line" key={seq}>
                <span class="n">{clock(atMs)}</span>
                <code dir="auto" class={stream === 'stderr' ? 'goes' : ''}>
                  {text}
                </code>
              </div>
            ))}
          </div>
        </Scroll>
      )}
    </Show>
  );
}
