import type { BoldnessStep, LedgerReport, LedgerTool } from '../../../core/ports/ledger.ts';
import { compact, dayName, dollars, iso, number, share } from '../format.tsx';
import { Show, useLoaded } from '../parts/loaded.tsx';
import { Badge, Bar, Card, Empty, Head, Scroll, Time } from '../parts/pieces.tsx';
import { Start } from './start.tsx';

/** What became of texts by tool and kind, where lines were needed after all, and what was learnt from it. */
export function ToolsView() {
  const report = useLoaded<LedgerReport>('ledger', { days: 30 });
  return (
    <>
      <Head
        title="Tools and kinds"
        about="The last 30 days, each text counted once. Regret is what was cut and needed later: recovered, asked for again, or quoted in an edit."
      >
        <button type="button" onClick={report.reload}>
          Refresh
        </button>
      </Head>
      <Show of={report}>
        {({ tools, steps }) =>
          tools.length === 0 ? (
            <Empty title="No text was looked at yet">
              <Start />
            </Empty>
          ) : (
            <>
              <Tools tools={tools} />
              {steps.length > 0 && <Learnt steps={steps} />}
            </>
          )
        }
      </Show>
    </>
  );
}

const COLUMNS = ['Texts', 'Cut', 'Tokens cut', '', 'Saved', 'Regret', 'Step'] as const;

function Tools({ tools }: { tools: readonly LedgerTool[] }) {
  return (
    <Card flush>
      <Scroll label="Tools and kinds">
        <table>
          <thead>
            <tr>
              <th scope="col">Tool</th>
              <th scope="col">Kind</th>
              {COLUMNS.map((name) => (
                <th scope="col" class={name === '' ? 'bars' : 'amount'} key={name}>
                  {name === '' ? <span class="unseen">Share of the tokens</span> : name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {tools.map((tool) => (
              <Row key={`${tool.tool} ${tool.kind}`} tool={tool} />
            ))}
          </tbody>
        </table>
      </Scroll>
    </Card>
  );
}

function Row({ tool: one }: { tool: LedgerTool }) {
  const { recovered, reread, quoted } = one.regrets;
  const regrets = [
    recovered > 0 ? `${number(recovered)} recovered` : '',
    reread > 0 ? `${number(reread)} asked for again` : '',
    quoted > 0 ? `${number(quoted)} quoted` : '',
  ].filter((words) => words !== '');
  return (
    <tr>
      <th scope="row" class="breaks">
        {one.tool === '' ? 'no tool' : one.tool}
      </th>
      <td>{one.kind === '' ? 'unknown' : one.kind.replaceAll('_', ' ')}</td>
      <td class="amount">{number(one.texts)}</td>
      <td class="amount">{number(one.cut)}</td>
      <td class="amount">{compact(one.removed)}</td>
      <td class="bars">
        <Bar part={one.removed} all={one.tokens} tone="cut" />
        <span class="quiet">{share(one.removed, one.tokens)}</span>
      </td>
      <td class="amount">{dollars(one.dollarsSaved)}</td>
      <td class={regrets.length > 0 ? 'amount goes' : 'amount quiet'}>
        {dollars(one.regretDollars)}
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
    </tr>
  );
}

function Step({ step }: { step: number }) {
  if (step === 0) return <span class="quiet">as set</span>;
  return <Badge tone={step < 0 ? 'warn' : 'good'}>{step > 0 ? `+${step} bolder` : `${step} milder`}</Badge>;
}

/** The boldness steps that hold, and what each was decided on. */
function Learnt({ steps }: { steps: readonly BoldnessStep[] }) {
  return (
    <Card title="Learnt from regret" flush>
      <p class="quiet">
        New texts are cut more mildly where many cut texts were needed later, and more boldly where hardly any were.
        Texts already sent stay as they were. <code>MCP_PRUNER_LEARN=false</code> switches it off.
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
                <td class="amount">{number(one.texts)}</td>
                <td class="amount">
                  {number(one.regretted)} <span class="quiet">({share(one.regretted, one.texts)})</span>
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
