import { compact, dollarColumn, dollars, share } from '@mcp-pruner/ui/format.tsx';
import type { PartPieces } from '@mcp-pruner/ui/part-view.tsx';
import { Bar, Card, Empty, Figure, Head, Show, Table, useLoaded } from '@mcp-pruner/ui/parts/pieces.tsx';
import { count, plural } from 'mcp-pruner/base/counts.ts';
import { leftWholeWords } from 'mcp-pruner/core/left-whole.ts';
import { coldLines } from 'mcp-pruner/core/ports/cold-report.ts';
import type { LedgerReport, LedgerTotals, Share } from 'mcp-pruner/core/ports/ledger-report.ts';
import { prefixBreakLine, prefixBreakLines } from 'mcp-pruner/core/ports/prefix-breaks.ts';
import { useEffect, useState } from 'preact/hooks';
import type { ContextsShown } from '../../shapes.ts';
import { ProjectAndSpan, spanOf } from '../parts/filters.tsx';
import { useNews } from '../parts/live-reload.tsx';
import { useFilters } from '../route.tsx';
import { Cache, Spend } from './overview/by-day.tsx';
import { Holdout } from './overview/holdout.tsx';
import { Misses } from './overview/misses.tsx';
import { Parts } from './overview/models.tsx';
import { ToolBars } from './overview/tool-bars.tsx';
import { Start } from './start.tsx';

export function OverviewView({ pieces }: { readonly pieces: readonly PartPieces[] }) {
  const [filters, change] = useFilters();
  const days = spanOf(filters.days);
  const project = filters.project ?? '';
  const query = { days, project: project === '' ? null : project };
  const report = useLoaded<LedgerReport>('ledger', query);
  const contexts = useLoaded<ContextsShown>('contexts', query);
  const [projects, setProjects] = useState<readonly string[]>([]);
  useNews(() => {
    report.reload();
    contexts.reload();
  });
  // only the report on all projects lists them all
  useEffect(() => {
    if (report.value?.project === null) setProjects(report.value.projects.map((one) => one.project));
  }, [report.value]);
  return (
    <>
      <Head title="Overview" about={`The last ${days} days${project === '' ? '' : ` of ${project}`}.`}>
        <ProjectAndSpan projects={projects} project={project} days={days} onChange={change} />
        <button type="button" data-refresh onClick={report.reload}>
          Refresh
        </button>
      </Head>
      {pieces.map(({ Overview }, i) => (
        <Overview key={i} />
      ))}
      <Show loaded={report}>
        {(now) =>
          now.totals.requests === 0 ? (
            <Empty title="Nothing has come through yet">
              <Start />
            </Empty>
          ) : (
            <Report report={now} contexts={contexts.value} days={days} />
          )
        }
      </Show>
    </>
  );
}

function Report({ report, contexts, days }: { report: LedgerReport; contexts: ContextsShown | null; days: number }) {
  const { totals } = report;
  const isPriced = totals.requests > totals.unpriced;
  return (
    <>
      <Sentence report={report} contexts={contexts} />
      {contexts !== null && contexts.prefix_breaks.reported > 0 && <Breaks breaks={contexts.prefix_breaks} />}
      {contexts !== null && <p class="quiet notes">{coldLines(contexts, dollars).map((line) => `${line}. `)}</p>}
      {report.notes.length > 0 && (
        <ul class="quiet small notes">
          {report.notes.map((note) => (
            <li key={note}>{note}</li>
          ))}
        </ul>
      )}
      <Totals report={report} />
      <div class="wide-left">
        <Spend report={report} days={days} />
        <Cache report={report} days={days} />
      </div>
      <div class="two">
        <div>
          <ToolBars tools={report.tools} isPriced={isPriced} />
          <Parts report={report} by="model" days={days} />
          {report.project === null && report.projects.length > 1 && <Parts report={report} by="project" days={days} />}
        </div>
        <div>
          <LeftWholeCard report={report} />
          <Misses misses={report.misses} bill={totals.dollars} cold={contexts?.cold} />
          <Holdout holdout={report.holdout} />
        </div>
      </div>
      <details class="as-table">
        <summary>The same cuts as shares of four totals</summary>
        <Shares shares={report.shares} />
      </details>
    </>
  );
}

function Breaks({ breaks }: { breaks: ContextsShown['prefix_breaks'] }) {
  const line = prefixBreakLine(breaks);
  const sentence = `${line[0]?.toUpperCase() ?? ''}${line.slice(1)}`;
  return (
    <div class="note bad" role="alert">
      {sentence}
      <ul class="small">
        {prefixBreakLines(breaks).map((one) => (
          <li key={one}>{one}</li>
        ))}
      </ul>
    </div>
  );
}

/** Days from the first request in the span to today. */
function daysOf({ days }: LedgerReport): number {
  const first = days.findLast(({ requests }) => requests > 0)?.day ?? '';
  const today = days.find(({ requests }) => requests > 0)?.day ?? first;
  return Math.round((Date.parse(today) - Date.parse(first)) / 86_400_000) + 1;
}

function Sentence({ report, contexts }: { report: LedgerReport; contexts: ContextsShown | null }) {
  const { totals, tools } = report;
  const isPriced = totals.requests > totals.unpriced;
  const regrets = tools.reduce((sum, { regrets: of }) => sum + of.recovered + of.reread + of.quoted, 0);
  const { seen = 0, avoided = 0 } = contexts?.compactions ?? {};
  return (
    <p class="sentence">
      {plural(daysOf(report), 'day')}:{' '}
      {isPriced ? (
        <>
          <b>{dollars(totals.dollars)}</b> spent{totals.net > 0 && `, ${dollars(totals.net)} saved`}
        </>
      ) : (
        <>
          <b>{compact(totals.removedNew)} tokens</b> were cut
        </>
      )}
      {regrets > 0
        ? `; the lines of ${plural(regrets, 'cut')} were needed later`
        : '; no line that was cut was needed later'}
      {avoided > 0 && `; ${plural(avoided, 'compaction')} avoided`}
      {seen > 0 && `; ${plural(seen, 'compaction')} by clients`}.
    </p>
  );
}

/** Range of the savings while removed tokens are estimates. */
function rangeWords(range: LedgerTotals['savedRange']): string {
  if (range === null || range[0] === range[1]) return '';
  return ` (estimated, ${dollars(range[0])} to ${dollars(range[1])})`;
}

/** Misses of previously cached content, excluding first requests. */
function paidAgain({ misses }: LedgerReport): { readonly tokens: number; readonly usd: number } {
  const again = misses.filter(({ cause }) => cause !== 'first_request');
  const sum = (of: (miss: (typeof again)[number]) => number): number => again.reduce((all, one) => all + of(one), 0);
  return { tokens: sum(({ tokens }) => tokens), usd: sum(({ dollars: of }) => of) };
}

function Totals({ report }: { report: LedgerReport }) {
  const { requests, unpriced, estimated, wouldRemove, wouldSave } = report.totals;
  const isPriced = requests > unpriced;
  return (
    <>
      <dl class="figures">{isPriced ? <PricedFigures report={report} /> : <TokenFigures report={report} />}</dl>
      {wouldRemove > 0 && (
        <p class="quiet">
          In shadow mode {compact(wouldRemove)} tokens of the sent texts would have been cut
          {isPriced && `, and ${dollars(wouldSave)} saved`}.
        </p>
      )}
      {estimated > 0 && (
        <p class="quiet small notes">
          {`The provider reported no usage for ${plural(estimated, 'request')}: these figures are estimates.`}
        </p>
      )}
    </>
  );
}

function PricedFigures({ report }: { report: LedgerReport }) {
  const { dollars: bill, dollarsWithout, net, gross, savedRange, regretDollars, requests } = report.totals;
  const again = paidAgain(report);
  const cost = dollarColumn([net, gross, regretDollars]);
  const breakdown = `${cost(gross)} by cuts${rangeWords(savedRange)}, less ${cost(regretDollars)} for lines that were needed later`;
  return (
    <>
      <Figure
        name="Saved"
        value={dollars(net)}
        about={`${share(net, dollarsWithout)} of what it would have cost: ${breakdown}`}
        tone={net > 0 ? 'good' : net < 0 ? 'bad' : ''}
      />
      <Figure name="Billed" value={dollars(bill)} about={`in ${plural(requests, 'request')}`} />
      <Figure name="Cache misses" value={dollars(again.usd)} about={`${compact(again.tokens)} tokens paid again`} />
    </>
  );
}

function TokenFigures({ report }: { report: LedgerReport }) {
  const { removedNew, requests, regretTokens } = report.totals;
  return (
    <>
      <Figure name="Tokens cut" value={compact(removedNew)} about="each once, markers subtracted" tone="good" />
      <Figure name="Requests" value={compact(requests)} />
      <Figure name="Regret" value={compact(regretTokens)} about="tokens that were cut and needed later" />
      <Figure name="Cache misses" value={compact(paidAgain(report).tokens)} about="tokens paid again" />
    </>
  );
}

function LeftWholeCard({ report: { leftWhole, results } }: { report: LedgerReport }) {
  if (leftWhole.length === 0) return null;
  return (
    <Card title="Why results were left whole" flush>
      <p class="quiet small">
        {count(results.all)} new results and files: {count(results.cut)} cut, {count(results.all - results.cut)} left
        whole.
      </p>
      <Table label="Why results were left whole" heads={['Reason', { amount: 'Texts' }]}>
        {leftWhole.map((left) => (
          <tr key={left.reason}>
            <th scope="row">{leftWholeWords(left.reason)}</th>
            <td class="amount">{count(left.texts)}</td>
          </tr>
        ))}
      </Table>
    </Card>
  );
}

/** Removed tokens as shares of four totals, because a single share would be misleading. */
function Shares({ shares: { ofTexts, ofNewInput, ofAllInput, ofBill } }: { shares: LedgerReport['shares'] }) {
  const rows: readonly (readonly [string, string, Share, (value: number) => string])[] = [
    ['of the texts examined', 'each counted once', ofTexts, compact],
    ['of newly billed input', 'with what was removed for the first time', ofNewInput, compact],
    ['of all input', 'read from the cache or not', ofAllInput, compact],
    ['of the bill', 'net, in dollars', ofBill, dollars],
  ];
  return (
    <Card title="Shares of four totals">
      <ul class="shares">
        {rows.map(([name, about, { part, whole, share: known }, unit]) => (
          <li key={name}>
            <div>
              <b>{known === null ? '–' : share(part, whole)}</b> {name} <span class="quiet small">{about}</span>
            </div>
            <Bar part={part} all={whole} tone="cut" />
            <span class="quiet small">
              {unit(part)} of {unit(whole)}
            </span>
          </li>
        ))}
      </ul>
    </Card>
  );
}
