import { compact, dollarColumn, dollars } from '@mcp-pruner/ui/format.tsx';
import type { PartView } from '@mcp-pruner/ui/part-view.tsx';
import { Badge, Empty, Head, Show, Table, Time, useLoaded } from '@mcp-pruner/ui/parts/pieces.tsx';
import { count } from 'mcp-pruner/base/counts.ts';
import type { KeyOnPage, KeysShown } from '../page-shapes.ts';

export const keysView: PartView = {
  path: 'keys',
  name: 'Keys',
  icon: 'M12.5 7.5a4 4 0 1 1-8 0 4 4 0 0 1 8 0zm-1.2 2.8L18 17m-3.5-3.5 1.8-1.8',
  View: KeysView,
};

/** Keys with spend and remaining limits. They are changed on the command line or by the admin API. */
function KeysView() {
  const keys = useLoaded<KeysShown | { readonly off: true }>('keys');
  return (
    <>
      <Head
        title="Keys"
        about="What they open, what they spent in 30 days, and their limits. mcp-pruner keys and the admin API change them."
      >
        <button type="button" data-refresh onClick={keys.reload}>
          Refresh
        </button>
      </Head>
      <Show loaded={keys}>
        {(now) =>
          'off' in now ? (
            <Empty title="Keys are not required here">
              <p>
                <code>MCP_PRUNER_REQUIRE_KEY=true</code> asks for them.
              </p>
            </Empty>
          ) : (
            <Keys {...now} />
          )
        }
      </Show>
    </>
  );
}

function Keys({ keys, hasMore }: KeysShown) {
  const spent = dollarColumn(keys.map(({ dollars: of }) => of));
  return (
    <>
      <Table label="Keys" heads={['Key', 'Projects', { amount: '30 days' }, 'Limits', 'Last use']}>
        {keys.map((key) => (
          <tr key={key.id}>
            <td>
              {key.name} <span class="quiet">{key.id}</span>{' '}
              {key.state !== 'open' && <Badge tone="bad">{key.state}</Badge>}
            </td>
            <td class="breaks">{key.projects.join(', ')}</td>
            <td class="amount">
              {spent(key.dollars)} <span class="quiet">{count(key.requests)} requests</span>
            </td>
            <td>{limitsOf(key)}</td>
            <td>{key.last_used_ms === null ? 'never' : <Time ms={key.last_used_ms} />}</td>
          </tr>
        ))}
      </Table>
      {hasMore && <p class="quiet">There are more: mcp-pruner keys list shows all.</p>}
    </>
  );
}

function limitsOf(key: KeyOnPage): string {
  const limits = [
    key.dollars_per_month !== null && `${dollars(key.dollarsThisMonth)} of ${dollars(key.dollars_per_month)} a month`,
    key.tokens_per_day !== null && `${compact(key.tokensToday)} of ${compact(key.tokens_per_day)} tokens a day`,
    key.requests_per_minute !== null && `${count(key.requests_per_minute)} requests a minute`,
  ];
  return limits.filter(Boolean).join(', ') || 'none';
}
