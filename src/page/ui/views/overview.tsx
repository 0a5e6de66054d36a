import { useEffect, useState } from 'preact/hooks';
import type { CheckedShare, LedgerReport, LedgerTotals } from '../../../core/ports/ledger.ts';
import { compact, dollars, number, plural, share } from '../format.tsx';
import { Show, useLoaded } from '../parts/loaded.tsx';
import { Empty, Figure, Head } from '../parts/pieces.tsx';
import { ByDay } from './overview/by-day.tsx';
import { Holdout } from './overview/holdout.tsx';
import { Misses } from './overview/misses.tsx';
import { Models } from './overview/models.tsx';
import { Shares } from './overview/shares.tsx';
import { Work } from './overview/work.tsx';
import { Start } from './start.tsx';

const SPANS = [7, 30, 90] as const;

/** What requests cost, what pruning changed of it, and where the rest of the money goes. */
export function OverviewView() {
  const [days, setDays] = useState<number>(30);
  const [project, setProject] = useState('');
  const report = useLoaded<LedgerReport>('ledger', { days, project: project === '' ? null : project });
  const [projects, setProjects] = useState<readonly string[]>([]);
  // those of the report about all; that about one names no other
  useEffect(() => {
    if (report.value?.project === null) setProjects(report.value.projects.map((one) => one.project));
  }, [report.value]);
  return (
    <>
      <Head title="Overview" about={`The last ${days} days${project === '' ? '' : ` of ${project}`}.`}>
        {projects.length > 1 && (
          <label>
            <span class="unseen">Project</span>
            <select value={project} onChange={(event) => setProject(event.currentTarget.value)}>
              <option value="">all projects</option>
              {projects.map((name) => (
                <option key={name} value={name}>
                  {name}
                </option>
              ))}
            </select>
          </label>
        )}
        <label>
          <span class="unseen">Time</span>
          <select value={days} onChange={(event) => setDays(Number(event.currentTarget.value))}>
            {SPANS.map((span) => (
              <option key={span} value={span}>
                {span} days
              </option>
            ))}
          </select>
        </label>
        <button type="button" onClick={report.reload}>
          Refresh
        </button>
      </Head>
      <Show of={report}>
        {(now) =>
          now.totals.requests === 0 ? (
            <Empty title="Nothing has come through yet">
              <Start />
            </Empty>
          ) : (
            <Report report={now} days={days} />
          )
        }
      </Show>
    </>
  );
}

/** Why the provider gave no count, by reason. */
function reasonsOf({ failures }: CheckedShare): string {
  return failures.length === 0 ? '' : `: ${failures.map((one) => `${number(one.requests)} ${one.reason}`).join(', ')}`;
}

function Report({ report, days }: { report: LedgerReport; days: number }) {
  const { checked } = report;
  return (
    <>
      {report.notes.length > 0 && (
        <ul class="quiet small notes">
          {report.notes.map((note) => (
            <li key={note}>{note}</li>
          ))}
        </ul>
      )}
      <Totals report={report} />
      {checked !== null && (
        <p class="quiet">
          The provider counted {plural(checked.requests, 'request')} as they came
          {checked.failed > 0 && ` (no count for ${number(checked.failed)}${reasonsOf(checked)})`}:{' '}
          {compact(checked.exact)} tokens were cut, {compact(checked.estimated)} by the estimate.
        </p>
      )}
      <ByDay report={report} days={days} />
      <div class="two">
        <Shares shares={report.shares} />
        <Holdout holdout={report.holdout} />
      </div>
      <Work work={report.work} />
      <Misses misses={report.misses} bill={report.totals.dollars} />
      <Models models={report.models} />
    </>
  );
}

/** The range that holds the saving while removed tokens are estimates. */
function rangeWords(range: LedgerTotals['savedRange']): string {
  if (range === null || range[0] === range[1]) return '';
  return ` (estimated, ${dollars(range[0])} to ${dollars(range[1])})`;
}

function Totals({ report: { totals } }: { report: LedgerReport }) {
  const {
    dollars: bill,
    dollarsWithout,
    net,
    gross,
    savedRange,
    regretDollars,
    missDollars,
    requests,
    unpriced,
    estimated,
  } = totals;
  const isPriced = requests > unpriced;
  return (
    <>
      <dl class="figures">
        {isPriced ? (
          <>
            <Figure
              name="Saved, net"
              value={dollars(net)}
              about={`${share(net, dollarsWithout)} of what it would have cost`}
              tone={net >= 0 ? 'good' : 'bad'}
            />
            <Figure name="Billed" value={dollars(bill)} about={`in ${plural(requests, 'request')}`} />
            <Figure
              name="Regret"
              value={dollars(regretDollars)}
              about={`of ${dollars(gross)} gross${rangeWords(savedRange)}: cut, and needed later`}
            />
            <Figure
              name="Cache misses"
              value={dollars(missDollars)}
              about={`${compact(totals.missTokens)} tokens paid again`}
            />
          </>
        ) : (
          <>
            <Figure
              name="Tokens cut"
              value={compact(totals.removedNew)}
              about="each once, markers subtracted"
              tone="good"
            />
            <Figure name="Requests" value={compact(requests)} />
            <Figure name="Regret" value={compact(totals.regretTokens)} about="tokens that were cut and needed later" />
            <Figure name="Cache misses" value={compact(totals.missTokens)} about="tokens" />
          </>
        )}
      </dl>
      {totals.wouldRemove > 0 && (
        <p class="quiet">
          In shadow mode {compact(totals.wouldRemove)} tokens would have been cut of what went out
          {isPriced && `, and ${dollars(totals.wouldSave)} saved`}.
        </p>
      )}
      {estimated > 0 && (
        <p class="quiet small notes">
          {`Of ${plural(estimated, 'request')} the provider did not say what was used: ${number(estimated)} estimates.`}
        </p>
      )}
    </>
  );
}
