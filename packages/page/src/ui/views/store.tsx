import { ago, bytes, share } from '@mcp-pruner/ui/format.tsx';
import { Bar, Card, Empty, Figure, Head, Show, Table, Time, useLoaded } from '@mcp-pruner/ui/parts/pieces.tsx';
import { count, plural } from 'mcp-pruner/base/counts.ts';
import type { RecallAnswer } from 'mcp-pruner/core/ports/recall.ts';
import { useState } from 'preact/hooks';
import type { PrunePage, StoreShown } from '../../shapes.ts';
import { to } from '../route.tsx';

const DAY_S = 86_400;

export function StoreView() {
  const store = useLoaded<StoreShown>('store');
  return (
    <>
      <Head title="Store" about="Originals of texts, kept until they expire.">
        <button type="button" data-refresh onClick={store.reload}>
          Refresh
        </button>
      </Head>
      <Show loaded={store}>
        {(now) => (
          <>
            <dl class="figures">
              <Figure
                name="Size"
                value={bytes(now.bytes)}
                about={`${share(now.bytes, now.maxBytes)} of ${bytes(now.maxBytes)}`}
              />
              <Figure
                name="Texts kept"
                value={count(now.prunes)}
                about={`cut or searchable, from ${plural(now.snapshots, 'original')}`}
              />
              <Figure
                name="Oldest"
                value={now.oldestMs === null ? '–' : ago(now.oldestMs, now.nowMs)}
                about="since it was kept"
              />
              <Figure
                name="Next to expire"
                value={now.nextExpiryMs === null ? '–' : ago(now.nextExpiryMs, now.nowMs)}
                about={`${plural(Math.round(now.ttlS / DAY_S), 'day')} after the last use`}
              />
            </dl>
            <p class="meter">
              <Bar part={now.bytes} all={now.maxBytes} tone={now.bytes > now.maxBytes * 0.9 ? 'bad' : 'good'} />
              <span class="quiet">
                in <code class="breaks">{now.place}</code>
              </span>
            </p>
            <Search nowMs={now.nowMs} />
            <Prunes nowMs={now.nowMs} />
          </>
        )}
      </Show>
    </>
  );
}

function Search({ nowMs }: { nowMs: number }) {
  const [words, setWords] = useState('');
  const [query, setQuery] = useState('');
  const answer = useLoaded<RecallAnswer>('recall', { query });
  return (
    <Card title="Search what tools returned">
      <form
        class="filter"
        onSubmit={(event) => {
          event.preventDefault();
          setQuery(words.trim());
        }}
      >
        <input
          type="search"
          aria-label="Words, names or paths"
          placeholder="Words, names or paths"
          value={words}
          onInput={(event) => setWords(event.currentTarget.value)}
        />
        <button type="submit">Search</button>
      </form>
      {query !== '' && (
        <Show loaded={answer}>
          {({ hits, hint }) =>
            hits.length === 0 ? (
              <p class="quiet">{hint}</p>
            ) : (
              <ol class="hits">
                {hits.map((hit) => (
                  <li key={hit.prune_id}>
                    <a href={to('text', hit.prune_id)}>
                      <code>{hit.path ?? hit.tool ?? hit.prune_id}</code>
                    </a>{' '}
                    <span class="quiet">
                      lines {hit.lines}, <Time ms={Date.parse(hit.when)}>{ago(Date.parse(hit.when), nowMs)}</Time>
                      {hit.superseded && ', superseded'}
                    </span>
                    <pre>{hit.text}</pre>
                  </li>
                ))}
              </ol>
            )
          }
        </Show>
      )}
    </Card>
  );
}

function Prunes({ nowMs }: { nowMs: number }) {
  const [trail, setTrail] = useState<readonly number[]>([]);
  const before = trail.at(-1);
  const page = useLoaded<PrunePage>('prunes', { before });
  return (
    <Card title="Originals, the newest first" flush>
      <Show loaded={page}>
        {({ prunes, next }) =>
          prunes.length === 0 && trail.length === 0 ? (
            <Empty title="Nothing has been cut yet">
              <p>The first large tool result that an agent sends through the proxy appears here.</p>
            </Empty>
          ) : (
            <>
              <Table
                label="Originals"
                heads={['Prune id', 'Tool', 'Kind', { amount: 'Lines cut' }, 'Created', 'Expires']}
              >
                {prunes.map((prune) => (
                  <tr key={prune.row}>
                    <th scope="row">
                      <a href={to('text', prune.pruneId)}>
                        <code>{prune.pruneId}</code>
                      </a>
                    </th>
                    <td class="breaks">
                      {prune.tool} {prune.asked !== '' && <code>{prune.asked}</code>}
                    </td>
                    <td>{prune.sourceType}</td>
                    <td class="amount">
                      {count(prune.lines - prune.keptLines)} of {count(prune.lines)}
                    </td>
                    <td>
                      <Time ms={prune.createdMs}>{ago(prune.createdMs, nowMs)}</Time>
                    </td>
                    <td>
                      <Time ms={prune.expiresMs}>{ago(prune.expiresMs, nowMs)}</Time>
                    </td>
                  </tr>
                ))}
              </Table>
              <div class="pager">
                <button type="button" disabled={trail.length === 0} onClick={() => setTrail(trail.slice(0, -1))}>
                  Newer
                </button>
                <span class="quiet">page {trail.length + 1}</span>
                <button
                  type="button"
                  disabled={next === null}
                  onClick={() => next !== null && setTrail([...trail, next])}
                >
                  Older
                </button>
              </div>
            </>
          )
        }
      </Show>
    </Card>
  );
}
