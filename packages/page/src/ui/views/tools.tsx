import { compact, dollarColumn, share } from '@mcp-pruner/ui/format.tsx';
import { Bar, Card, Empty, Head, Scroll, Show, useLoaded } from '@mcp-pruner/ui/parts/pieces.tsx';
import { count } from 'mcp-pruner/base/counts.ts';
import type { LedgerReport, LedgerTool } from 'mcp-pruner/core/ports/ledger-report.ts';
import type { FacetsShown, LinesShown } from '../../shapes.ts';
import { ProjectAndSpan, spanOf } from '../parts/filters.tsx';
import { Spark } from '../parts/plot.tsx';
import { useFilters } from '../route.tsx';
import { Start } from './start.tsx';

export function ToolsView() {
  const [filters, change] = useFilters();
  const days = spanOf(filters.days);
  const project = filters.project ?? '';
  const query = { days, project: project === '' ? null : project };
  const report = useLoaded<LedgerReport>('ledger', query);
  const lines = useLoaded<LinesShown>('lines', { ...query, by: 'tool', measure: 'removed' });
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
        {({ tools }) =>
          tools.length === 0 ? (
            <Empty title="No text has been examined yet">
              <Start />
            </Empty>
          ) : (
            <Tools tools={tools} lines={new Map(lines.value?.lines.map(({ key, values }) => [key, values]))} />
          )
        }
      </Show>
    </>
  );
}

const COLUMNS = ['Texts', 'Cut', 'Tokens cut', '', 'Saved', 'Regret', 'Cut by day'] as const;

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
      <td class="amount sparks">
        <Spark values={values} />
      </td>
    </tr>
  );
}
