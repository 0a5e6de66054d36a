import { messageOf, post } from '@mcp-pruner/ui/api.tsx';
import { clock, compact } from '@mcp-pruner/ui/format.tsx';
import type { PartView } from '@mcp-pruner/ui/part-view.tsx';
import { Confirm } from '@mcp-pruner/ui/parts/confirm.tsx';
import { Badge, Card, Empty, Head, Scroll, Show, Table, Time, useLoaded } from '@mcp-pruner/ui/parts/pieces.tsx';
import { say } from '@mcp-pruner/ui/parts/toast.tsx';
import { count, plural } from 'mcp-pruner/base/counts.ts';
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { BoardShown, ChildLogShown, ChildShown, FleetShown, GraphShown } from '../page-shapes.ts';
import { Drawing } from './drawing.tsx';

export const fleetView: PartView = {
  path: 'fleet',
  name: 'Fleet',
  icon: 'M10 3v4m0 0-5 4m5-4 5 4M5 11v4m10-4v4M8 3h4v3H8zM3 14h4v3H3zm10 0h4v3h-4z',
  key: 'f',
  View: FleetView,
};

function FleetView() {
  const fleet = useLoaded<FleetShown | { readonly off: true }>('fleet');
  return (
    <>
      <Head title="Fleet" about="Agents that were started here, and what they share.">
        <button type="button" data-refresh onClick={fleet.reload}>
          Refresh
        </button>
      </Head>
      <Show loaded={fleet}>
        {(now) =>
          'off' in now ? (
            <Empty title="The fleet is off">
              <p>
                <code>mcp-pruner serve --enable-fleet</code> switches it on.
              </p>
            </Empty>
          ) : (
            <Fleet fleet={now} onChange={fleet.reload} />
          )
        }
      </Show>
    </>
  );
}

function Fleet({
  fleet: { children, graphs, namespaces, plans, endsChildren },
  onChange,
}: {
  fleet: FleetShown;
  onChange: () => void;
}) {
  return (
    <>
      <Card title="Children">
        {children.length === 0 ? (
          <p class="quiet">None has been started yet: child_create starts one.</p>
        ) : (
          <ul class="rows inner">
            {children.map((child) => (
              <Child key={child.childId} child={child} canEnd={endsChildren} onChange={onChange} />
            ))}
          </ul>
        )}
      </Card>
      <Card title="Plans under way">
        {plans.length === 0 && <p class="quiet">None.</p>}
        {plans.map((plan) => (
          <Plan key={plan.runId} plan={plan} onChange={onChange} />
        ))}
      </Card>
      <Graphs graphs={graphs} />
      <Boards namespaces={namespaces} />
    </>
  );
}

function Graphs({ graphs }: Pick<FleetShown, 'graphs'>) {
  return (
    <Card title="Graphs">
      {graphs.length === 0 && <p class="quiet">None has been committed yet: graph_mutate commits one.</p>}
      {graphs.map(({ graphId, version, committedMs }, i) => (
        <Opened
          key={graphId}
          title={graphId}
          about={
            <>
              version {count(version)}, <Time ms={committedMs} />
            </>
          }
          isOpen={i === 0}
        >
          <Graph id={graphId} version={version} />
        </Opened>
      ))}
    </Card>
  );
}

function Boards({ namespaces }: Pick<FleetShown, 'namespaces'>) {
  return (
    <Card title="Blackboard">
      {namespaces.length === 0 && <p class="quiet">It is empty: bb_set writes an entry.</p>}
      {namespaces.map(({ namespace, entries, updatedMs }, i) => (
        <Opened
          key={namespace}
          title={namespace}
          about={
            <>
              {plural(entries, 'entry', 'entries')}, <Time ms={updatedMs} />
            </>
          }
          isOpen={i === 0}
        >
          <Board namespace={namespace} version={updatedMs} />
        </Opened>
      ))}
    </Card>
  );
}

/** Loads its contents when first opened. */
function Opened({
  title,
  about,
  isOpen,
  children,
}: {
  title: string;
  about: ComponentChildren;
  isOpen: boolean;
  children: ComponentChildren;
}) {
  const [open, setOpen] = useState(isOpen);
  return (
    <details class="opened" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <b class="breaks">{title}</b> <span class="quiet small">{about}</span>
      </summary>
      {open && children}
    </details>
  );
}

function Graph({ id, version }: { id: string; version: number }) {
  const graph = useLoaded<GraphShown>('fleet-graph', { id, version });
  return <Show loaded={graph}>{(now) => <Drawing graph={now} />}</Show>;
}

function Board({ namespace, version }: { namespace: string; version: number }) {
  const board = useLoaded<BoardShown>('fleet-board', { namespace, version });
  return (
    <Show loaded={board}>
      {({ entries, more }) => (
        <>
          <Table label={`Blackboard ${namespace}`} heads={['Key', 'Value', { amount: 'Version' }, 'Changed']}>
            {entries.map(({ key, value, tags, version: at, updatedMs, expiresMs }) => (
              <tr key={key}>
                <th scope="row" class="breaks">
                  {key}
                  {tags.length > 0 && <span class="quiet small"> {tags.join(', ')}</span>}
                </th>
                <td>
                  <code class="breaks">{value}</code>
                </td>
                <td class="amount">{count(at)}</td>
                <td>
                  <Time ms={updatedMs} />
                  {expiresMs !== null && (
                    <span class="quiet small">
                      , until <Time ms={expiresMs} />
                    </span>
                  )}
                </td>
              </tr>
            ))}
          </Table>
          {more && <p class="quiet small">The newest {entries.length}; bb_query lists all.</p>}
        </>
      )}
    </Show>
  );
}

function Plan({
  plan: { runId, mode, state, progress, startedMs, outline },
  onChange,
}: {
  plan: FleetShown['plans'][number];
  onChange: () => void;
}) {
  return (
    <section class="plan" aria-label={`Plan ${runId}`}>
      <div class="text-foot">
        <Badge tone={state === 'running' ? 'good' : 'warn'}>{state}</Badge>
        <code class="breaks">{runId}</code>
        <span class="quiet">
          {mode}, {Math.round(progress)} %, since <Time ms={startedMs} />
        </span>
        <span class="far">
          <Ending
            name="Cancel"
            of={`plan ${runId}`}
            about="No further task starts, and the children that it started are ended."
            path="plan-cancel"
            body={{ run_id: runId }}
            onDone={onChange}
          />
        </span>
      </div>
      {outline.length > 0 && (
        <ol class="outline">
          {outline.map(({ depth, kind, name, status }, i) => (
            <li key={i} style={{ paddingLeft: `${(depth - 1) * 1.4}rem` }}>
              <span class={`dot ${status ?? ''}`} aria-hidden="true" /> {kind} <b class="breaks">{name}</b>{' '}
              <span class="quiet small">{status ?? 'waits'}</span>
            </li>
          ))}
        </ol>
      )}
    </section>
  );
}

function Ending({
  name,
  of,
  about,
  path,
  body,
  onDone,
}: {
  name: string;
  of: string;
  about: string;
  path: string;
  body: object;
  onDone: () => void;
}) {
  const [asking, setAsking] = useState(false);
  const go = (): void => {
    setAsking(false);
    post(path, body).then(
      () => {
        say(`${name}: ${of}.`);
        onDone();
      },
      (cause: unknown) => say(messageOf(cause)),
    );
  };
  return (
    <>
      <button type="button" class="quiet-danger" onClick={() => setAsking(true)}>
        {name}
        <span class="unseen"> {of}</span>
      </button>
      {asking && (
        <Confirm title={`${name} ${of}?`} yes={name} onYes={go} onNo={() => setAsking(false)}>
          <p>{about}</p>
        </Confirm>
      )}
    </>
  );
}

const TONES: Readonly<Record<string, string>> = { running: 'good', error: 'bad', killed: 'bad', lost: 'bad' };

const ENDED = new Set(['terminated', 'error', 'killed', 'lost']);

function Child({ child, canEnd, onChange }: { child: ChildShown; canEnd: boolean; onChange: () => void }) {
  const [open, setOpen] = useState(false);
  const { childId, state, what, role, createdMs, stopReason, messages, tokensIn, tokensOut } = child;
  return (
    <li>
      <div class="text-foot">
        <Badge tone={TONES[state] ?? ''}>{state}</Badge>
        <b class="breaks">{role ?? what}</b>
        <code class="quiet">{childId}</code>
        <span class="quiet">
          {count(messages)} requests, {compact(tokensIn)} + {compact(tokensOut)} tokens
          {stopReason === null ? '' : `, ended: ${stopReason}`}
        </span>
        <span class="quiet far">
          <Time ms={createdMs} />
        </span>
        <button type="button" aria-expanded={open} onClick={() => setOpen(!open)}>
          {open ? 'Close' : 'Output'}
        </button>
        {canEnd && !ENDED.has(state) && (
          <>
            <Ending
              name="Cancel"
              of={`child ${childId}`}
              about="It is asked to end, and killed when the grace period is over."
              path="child-cancel"
              body={{ child_id: childId }}
              onDone={onChange}
            />
            <Ending
              name="Kill"
              of={`child ${childId}`}
              about="All its processes are killed at once. Work that it has not saved is lost."
              path="child-kill"
              body={{ child_id: childId }}
              onDone={onChange}
            />
          </>
        )}
      </div>
      {open && <Output id={childId} />}
    </li>
  );
}

function Output({ id }: { id: string }) {
  const log = useLoaded<ChildLogShown>('child-log', { id });
  return (
    <Show loaded={log}>
      {({ lines }) => (
        <Scroll label={`Output of ${id}`}>
          <div class="lines">
            {lines.length === 0 && <p class="quiet">There is no output yet.</p>}
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
