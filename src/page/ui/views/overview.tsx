import { useMemo } from 'preact/hooks';
import type { NamedSums, Overview } from '../../shapes.ts';
import { compact, dayName, number, share } from '../format.tsx';
import { Show, useLoaded } from '../parts/loaded.tsx';
import { Bar, Card, Empty, Figure, Head, Scroll } from '../parts/pieces.tsx';
import { DayBars, Legend } from '../parts/plot.tsx';
import { Start } from './start.tsx';

/** What the last days came to. */
export function OverviewView() {
  const overview = useLoaded<Overview>('overview');
  return (
    <>
      <Head title="Overview" about="The last 30 days.">
        <button type="button" onClick={overview.reload}>
          Refresh
        </button>
      </Head>
      <Show of={overview}>
        {(now) =>
          now.all.requests === 0 ? (
            <Empty title="Nothing has come through yet">
              <Start />
            </Empty>
          ) : (
            <Figures overview={now} />
          )
        }
      </Show>
    </>
  );
}

function Figures({ overview: { all, days, models, tools } }: { overview: Overview }) {
  const saved = all.tokensBefore - all.tokensAfter;
  return (
    <>
      <dl class="figures">
        <Figure
          name="Tokens not sent"
          value={compact(saved)}
          about={`${share(saved, all.tokensBefore)} of the texts looked at`}
          tone="good"
        />
        <Figure name="Requests" value={compact(all.requests)} />
        <Figure name="Texts looked at" value={compact(all.candidates)} about="large tool results and files" />
        <Figure name="Texts cut" value={compact(all.pruned)} about={share(all.pruned, all.candidates)} />
      </dl>
      <ByDay days={days} />
      <div class="two">
        <Named title="By tool" what="Tool" rows={tools} />
        <Named title="By model" what="Model" rows={models} />
      </div>
    </>
  );
}

function ByDay({ days }: { days: Overview['days'] }) {
  const names = useMemo(() => days.map(({ day }) => day), [days]);
  const series = useMemo(
    () => [
      { name: 'sent', values: days.map(({ tokensAfter }) => tokensAfter), colour: '--plot-kept' },
      {
        name: 'cut',
        values: days.map(({ tokensBefore, tokensAfter }) => tokensBefore - tokensAfter),
        colour: '--plot-cut',
      },
    ],
    [days],
  );
  return (
    <Card title="Tokens of the texts looked at, by day" side={<Legend series={series} />}>
      <DayBars days={names} series={series} label={dayName} tick={compact} />
      <details class="as-table">
        <summary>The same as a table</summary>
        <Scroll label="Tokens by day">
          <table>
            <thead>
              <tr>
                <th scope="col">Day</th>
                <th scope="col" class="amount">
                  Requests
                </th>
                <th scope="col" class="amount">
                  Sent
                </th>
                <th scope="col" class="amount">
                  Cut
                </th>
              </tr>
            </thead>
            <tbody>
              {days.map(({ day, requests, tokensBefore, tokensAfter }) => (
                <tr key={day}>
                  <th scope="row">{day}</th>
                  <td class="amount">{number(requests)}</td>
                  <td class="amount">{number(tokensAfter)}</td>
                  <td class="amount">{number(tokensBefore - tokensAfter)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      </details>
    </Card>
  );
}

function Named({ title, what, rows }: { title: string; what: string; rows: readonly NamedSums[] }) {
  return (
    <Card title={title} flush>
      <Scroll label={title}>
        <table>
          <thead>
            <tr>
              <th scope="col">{what}</th>
              <th scope="col" class="amount">
                Tokens
              </th>
              <th scope="col" class="amount">
                Cut
              </th>
              <th scope="col" class="bars">
                <span class="unseen">Share</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {rows.map(({ name, tokensBefore, tokensAfter }) => (
              <tr key={name}>
                <th scope="row" class="breaks">
                  {name}
                </th>
                <td class="amount">{compact(tokensBefore)}</td>
                <td class="amount">{compact(tokensBefore - tokensAfter)}</td>
                <td class="bars">
                  <Bar part={tokensBefore - tokensAfter} all={tokensBefore} tone="cut" />
                  <span class="quiet">{share(tokensBefore - tokensAfter, tokensBefore)}</span>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </Card>
  );
}
