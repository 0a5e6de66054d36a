import type { KindsShown } from '../../shapes.ts';
import { compact, number, share } from '../format.tsx';
import { Show, useLoaded } from '../parts/loaded.tsx';
import { Bar, Card, Empty, Head, Scroll, Time } from '../parts/pieces.tsx';
import { Start } from './start.tsx';

/** What became of texts by tool and kind, and where lines were wanted back. */
export function ToolsView() {
  const answer = useLoaded<KindsShown>('tools');
  return (
    <>
      <Head
        title="Tools and kinds"
        about="Each text counted once, when it was new. Lines that were wanted back tell where too much is cut."
      >
        <button type="button" onClick={answer.reload}>
          Refresh
        </button>
      </Head>
      <Show of={answer}>
        {(now) =>
          now.kinds.length === 0 ? (
            <Empty title="No text was looked at yet">
              <Start />
            </Empty>
          ) : (
            <Kinds answer={now} />
          )
        }
      </Show>
    </>
  );
}

function Kinds({ answer: { kinds, events, fromMs } }: { answer: KindsShown }) {
  return (
    <>
      <Card flush>
        <Scroll label="Tools and kinds">
          <table>
            <thead>
              <tr>
                <th scope="col">Tool</th>
                <th scope="col">Kind</th>
                <th scope="col" class="amount">
                  Texts
                </th>
                <th scope="col" class="amount">
                  Cut
                </th>
                <th scope="col" class="amount">
                  Tokens cut
                </th>
                <th scope="col" class="bars">
                  of all of them
                </th>
                <th scope="col" class="amount">
                  Wanted back
                </th>
                <th scope="col">Else left whole for</th>
              </tr>
            </thead>
            <tbody>
              {kinds.map((one) => (
                <tr key={`${one.tool} ${one.kind}`}>
                  <th scope="row" class="breaks">
                    {one.tool === '' ? 'no tool' : one.tool}
                  </th>
                  <td>{one.kind === '' ? 'unknown' : one.kind.replaceAll('_', ' ')}</td>
                  <td class="amount">{number(one.texts)}</td>
                  <td class="amount">{number(one.cut)}</td>
                  <td class="amount">{compact(one.tokensCut)}</td>
                  <td class="bars">
                    <Bar part={one.tokensCut} all={one.tokensBefore} tone="cut" />
                    <span class="quiet">{share(one.tokensCut, one.tokensBefore)}</span>
                  </td>
                  <td class={one.recovered > 0 ? 'amount goes' : 'amount quiet'}>{number(one.recovered)}</td>
                  <td class="quiet">{one.whole === '' ? '–' : one.whole.replaceAll('_', ' ')}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      </Card>
      {fromMs !== null && (
        <p class="quiet small">
          By the newest {number(events)} events, since <Time ms={fromMs} />.
        </p>
      )}
    </>
  );
}
