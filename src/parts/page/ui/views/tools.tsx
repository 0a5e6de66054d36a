import { useState } from 'preact/hooks';
import { ago, compact, dayName, dollarColumn, dollars, iso, share } from '../../../../app/page/ui/format.tsx';
import {
  Badge,
  Bar,
  Card,
  Empty,
  Head,
  Scroll,
  Show,
  Table,
  Time,
  useLoaded,
} from '../../../../app/page/ui/parts/pieces.tsx';
import { count } from '../../../../base/counts.ts';
import type { BoldnessStep } from '../../../../core/ports/ledger.ts';
import type { LedgerReport, LedgerTool } from '../../../../core/ports/ledger-report.ts';
import type { DeclaredTool, NamedTool } from '../../../../core/shelf/by-name.ts';
import type { FacetsShown, LinesShown, ShelfShown } from '../../shapes.ts';
import { ProjectAndSpan, spanOf } from '../parts/filters.tsx';
import { Spark } from '../parts/plot.tsx';
import { useFilters } from '../route.tsx';
import { Start } from './start.tsx';

/** Outcomes of texts by tool and kind, regrets, and the cost of declared tools. */
export function ToolsView() {
  const [filters, change] = useFilters();
  const days = spanOf(filters.days);
  const project = filters.project ?? '';
  const query = { days, project: project === '' ? null : project };
  const report = useLoaded<LedgerReport>('ledger', query);
  const lines = useLoaded<LinesShown>('lines', { ...query, by: 'tool', measure: 'removed' });
  const shelf = useLoaded<ShelfShown>('shelf', query);
  const facets = useLoaded<FacetsShown>('facets');
  const projects = facets.value?.projects ?? [];
  return (
    <>
      <Head
        title="Tools and kinds"
        about={`The last ${days} days, each text counted once. Regret is what was cut and needed later: recovered, asked for again, or quoted in an edit.`}
      >
        <ProjectAndSpan projects={projects} project={project} days={days} onChange={change} />
        <button type="button" data-refresh onClick={report.reload}>
          Refresh
        </button>
      </Head>
      <Show loaded={report}>
        {({ tools, steps }) =>
          tools.length === 0 ? (
            <Empty title="No text has been examined yet">
              <Start />
            </Empty>
          ) : (
            <>
              <Tools tools={tools} lines={new Map(lines.value?.lines.map(({ key, values }) => [key, values]))} />
              {steps.length > 0 && <Learnt steps={steps} />}
            </>
          )
        }
      </Show>
      <Show loaded={shelf}>{(now) => (now.tools.length === 0 ? null : <Shelf shelf={now} days={days} />)}</Show>
    </>
  );
}

/** Tools declared by clients, whose descriptions are sent with each request. */
function Shelf({ shelf: { tools, more, wouldSave, saved }, days }: { shelf: ShelfShown; days: number }) {
  const cost = dollarColumn(tools.map(({ dollarsPerMonth }) => dollarsPerMonth));
  return (
    <Card title="Declared tools" flush>
      <p class="quiet">
        Each request carries the description of every declared tool.{' '}
        {wouldSave.tokens > 0 &&
          `Shortening those that are never called would have saved ${compact(wouldSave.tokens)} tokens, ${dollars(wouldSave.usd)}, in the last ${days} days. `}
        {saved.tokens > 0 && `It saved ${compact(saved.tokens)} tokens, ${dollars(saved.usd)}.`}
      </p>
      <Table
        label="Declared tools"
        heads={['Tool', ...['Tokens', 'Conversations', 'Calls', 'Last call', 'A month'].map((amount) => ({ amount }))]}
      >
        {tools.map((tool) => (
          <Declared key={tool.name} tool={tool} cost={cost} />
        ))}
      </Table>
      {more > 0 && (
        <p class="quiet">
          and {count(more)} more: <code>mcp-pruner report --tools</code>
        </p>
      )}
    </Card>
  );
}

/** A declared tool, expandable to the projects and clients that declare it. */
function Declared({ tool, cost }: { tool: DeclaredTool; cost: (usd: number) => string }) {
  const [open, setOpen] = useState(false);
  const { name, kind, shelved, declarations } = tool;
  return (
    <>
      <tr>
        <th scope="row" class="breaks">
          <button type="button" class="plain" aria-expanded={open} onClick={() => setOpen(!open)}>
            <span aria-hidden="true">{open ? '▾' : '▸'}</span> {name}
          </button>{' '}
          {kind !== 'plain' && <Badge>{kind === 'never' ? 'always whole' : kind}</Badge>}{' '}
          {shelved && <Badge tone="good">on the shelf</Badge>}
        </th>
        <DeclaredFigures cost={cost} of={tool} />
      </tr>
      {open &&
        declarations.map((one) => (
          <tr key={`${one.project} ${one.client}`} class="below">
            <td class="breaks">
              {one.project} · {one.client || 'unknown client'} {one.shelved && <Badge tone="good">on the shelf</Badge>}
            </td>
            <DeclaredFigures cost={cost} of={one} />
          </tr>
        ))}
    </>
  );
}

function DeclaredFigures({
  cost,
  of: { tokens, conversations, calls, lastCallMs, dollarsPerMonth },
}: {
  cost: (usd: number) => string;
  of: NamedTool;
}) {
  return (
    <>
      <td class="amount">{count(tokens)}</td>
      <td class="amount">{count(conversations)}</td>
      <td class={calls === 0 ? 'amount quiet' : 'amount'}>{count(calls)}</td>
      <td class="amount">
        {lastCallMs === null ? 'never' : <Time ms={lastCallMs}>{ago(lastCallMs, Date.now())}</Time>}
      </td>
      <td class="amount">{cost(dollarsPerMonth)}</td>
    </>
  );
}

const COLUMNS = ['Texts', 'Cut', 'Tokens cut', '', 'Saved', 'Regret', 'Step', 'Cut by day'] as const;

function Tools({ tools, lines }: { tools: readonly LedgerTool[]; lines: ReadonlyMap<string, readonly number[]> }) {
  const saved = dollarColumn(tools.map(({ dollarsSaved }) => dollarsSaved));
  const regret = dollarColumn(tools.map(({ regretDollars }) => regretDollars));
  return (
    <Card flush>
      <Scroll label="Tools and kinds">
        <table>
          <thead>
            <tr>
              <th scope="col">Tool</th>
              <th scope="col">Kind</th>
              {COLUMNS.map((name) => (
                <th
                  scope="col"
                  class={name === '' ? 'bars' : name === 'Cut by day' ? 'amount sparks' : 'amount'}
                  key={name}
                >
                  {name === '' ? <span class="unseen">Share of the tokens</span> : name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {tools.map((tool) => (
              <Row
                key={`${tool.tool} ${tool.kind}`}
                {...{ tool, saved, regret, values: lines.get(`${tool.tool}\t${tool.kind}`) }}
              />
            ))}
          </tbody>
        </table>
      </Scroll>
    </Card>
  );
}

interface RowShown {
  readonly tool: LedgerTool;
  readonly values: readonly number[] | undefined;
  readonly saved: (usd: number) => string;
  readonly regret: (usd: number) => string;
}

function Row({ tool: one, values, saved, regret }: RowShown) {
  const { recovered, reread, quoted } = one.regrets;
  const regrets = [
    recovered > 0 ? `${count(recovered)} recovered` : '',
    reread > 0 ? `${count(reread)} asked for again` : '',
    quoted > 0 ? `${count(quoted)} quoted` : '',
  ].filter((words) => words !== '');
  return (
    <tr>
      <th scope="row" class="breaks">
        {one.tool === '' ? 'no tool' : one.tool}
      </th>
      <td>{one.kind === '' ? 'unknown' : one.kind.replaceAll('_', ' ')}</td>
      <td class="amount">{count(one.texts)}</td>
      <td class="amount">{count(one.cut)}</td>
      <td class="amount">{compact(one.removed)}</td>
      <td class="bars">
        <Bar part={one.removed} all={one.tokens} tone="cut" />
        <span class="quiet">{share(one.removed, one.tokens)}</span>
      </td>
      <td class="amount">{saved(one.dollarsSaved)}</td>
      <td class={regrets.length > 0 ? 'amount goes' : 'amount quiet'}>
        {regret(one.regretDollars)}
        {regrets.length > 0 && (
          <>
            <br />
            <span class="small">{regrets.join(', ')}</span>
          </>
        )}
      </td>
      <td class="amount">
        <Step step={one.step} />
      </td>
      <td class="amount sparks">
        <Spark values={values} />
      </td>
    </tr>
  );
}

function Step({ step }: { step: number }) {
  if (step === 0) return <span class="quiet">as set</span>;
  return <Badge tone={step < 0 ? 'warn' : 'good'}>{step > 0 ? `+${step} bolder` : `${step} milder`}</Badge>;
}

/** Boldness steps in force, with the evidence for each. */
function Learnt({ steps }: { steps: readonly BoldnessStep[] }) {
  return (
    <Card title="Learnt from regret" flush>
      <p class="quiet">
        New texts are cut more mildly where many cut texts were needed later, and more boldly where hardly any were.
        Texts already sent stay as they were. <code>MCP_PRUNER_LEARN=false</code> switches learning off.
      </p>
      <Scroll label="Learnt from regret">
        <table>
          <thead>
            <tr>
              <th scope="col" class="amount">
                Number
              </th>
              <th scope="col">Project</th>
              <th scope="col">Tool</th>
              <th scope="col">Kind</th>
              <th scope="col" class="amount">
                Texts cut
              </th>
              <th scope="col" class="amount">
                Regretted
              </th>
              <th scope="col">Since</th>
              <th scope="col" class="amount">
                Step
              </th>
            </tr>
          </thead>
          <tbody>
            {steps.map((one) => (
              <tr key={one.number}>
                <td class="amount">{one.number}</td>
                <td class="breaks">{one.project}</td>
                <th scope="row" class="breaks">
                  {one.tool === '' ? 'no tool' : one.tool}
                </th>
                <td>{one.kind.replaceAll('_', ' ')}</td>
                <td class="amount">{count(one.texts)}</td>
                <td class="amount">
                  {count(one.regretted)} <span class="quiet">({share(one.regretted, one.texts)})</span>
                </td>
                <td>
                  <Time ms={one.atMs}>{dayName(iso(one.atMs).slice(0, 10))}</Time>
                </td>
                <td class="amount">
                  <Step step={one.step} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </Card>
  );
}
