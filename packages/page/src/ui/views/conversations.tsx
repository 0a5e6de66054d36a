import { type Failure, failureOf, get } from '@mcp-pruner/ui/api.tsx';
import { ago, compact, dollarColumn, share } from '@mcp-pruner/ui/format.tsx';
import { Badge, BoundBadge, Empty, Head, Show, Time, Trouble, useLoaded } from '@mcp-pruner/ui/parts/pieces.tsx';
import { count, plural } from 'mcp-pruner/base/counts.ts';
import { useEffect, useState } from 'preact/hooks';
import type { ConversationShown, ConversationsShown, FacetsShown } from '../../shapes.ts';
import { Choose, Facet, SearchField } from '../parts/filters.tsx';
import { type Filters, to, useFilters } from '../route.tsx';
import { Start } from './start.tsx';

const ORDERS = [
  ['seen', 'newest first'],
  ['dollars', 'most spent first'],
  ['saved', 'most saved first'],
  ['requests', 'most requests first'],
  ['cut', 'biggest cut first'],
] as const;
const FILTERS = ['project', 'client', 'model', 'wire', 'q'] as const;

export function ConversationsView() {
  const [filters, change] = useFilters();
  const { project, client, model, wire, q, sort } = filters;
  const query = { project, client, model, wire, q, sort };
  const first = useLoaded<ConversationsShown>('conversations', query);
  const facets = useLoaded<FacetsShown>('facets');
  const isFiltered = FILTERS.some((name) => (filters[name] ?? '') !== '');
  return (
    <>
      <Head title="Conversations" about="What agents worked on, what it cost, and what was cut from it.">
        <button type="button" data-refresh onClick={first.reload}>
          Refresh
        </button>
      </Head>
      {facets.value && <Bar facets={facets.value} filters={filters} onChange={change} />}
      <Show loaded={first}>
        {(page) =>
          page.conversations.length > 0 ? (
            <List key={JSON.stringify(query)} first={page} query={query} />
          ) : isFiltered ? (
            <Empty title="No conversation matches the filters">
              <button
                type="button"
                onClick={() => change(Object.fromEntries(FILTERS.map((name) => [name, ''] as const)))}
              >
                Clear all filters
              </button>
            </Empty>
          ) : (
            <Empty title="No conversation has been seen yet">
              <Start />
            </Empty>
          )
        }
      </Show>
      {facets.value && !facets.value.titles && (
        <p class="quiet small">
          <code>MCP_PRUNER_CONVERSATION_TITLES=true</code> shows the first 60 characters of the user's first words as
          the title of a conversation.
        </p>
      )}
    </>
  );
}

function Bar({
  facets: { projects, clients, models, wires },
  filters,
  onChange,
}: {
  facets: FacetsShown;
  filters: Filters;
  onChange: (change: Filters) => void;
}) {
  return (
    <search class="filter">
      <SearchField
        label="Search conversations and what tools returned"
        value={filters.q ?? ''}
        onWords={(q) => onChange({ q: q.trim() })}
      />
      <Facet name="project" any="all projects" values={projects} value={filters.project} onChange={onChange} />
      <Facet name="client" any="all clients" values={clients} value={filters.client} onChange={onChange} />
      <Facet name="model" any="all models" values={models} value={filters.model} onChange={onChange} />
      <Facet name="wire" any="all wires" values={wires} value={filters.wire} onChange={onChange} />
      <Choose
        label="Order"
        values={ORDERS}
        value={filters.sort ?? 'seen'}
        onChoose={(sort) => onChange({ sort: sort === 'seen' ? '' : sort })}
      />
    </search>
  );
}

function List({ first, query }: { first: ConversationsShown; query: Parameters<typeof get>[1] }) {
  const [later, setLater] = useState<readonly ConversationShown[]>([]);
  const [more, setMore] = useState(first.more);
  const [failure, setFailure] = useState<Failure | null>(null);
  useEffect(() => {
    setLater([]);
    setMore(first.more);
  }, [first]);
  const all = [
    ...first.conversations,
    ...later.filter(({ row }) => first.conversations.every((one) => one.row !== row)),
  ];
  const further = (): void => {
    get<ConversationsShown>('conversations', { ...query, from: first.conversations.length + later.length }).then(
      (page) => {
        setLater([...later, ...page.conversations]);
        setMore(page.more);
        setFailure(null);
      },
      (cause: unknown) => setFailure(failureOf(cause)),
    );
  };
  const bills = all.flatMap(({ bill }) => bill ?? []);
  const costs = dollarColumn(bills.flatMap(({ dollars }) => dollars ?? []));
  const savings = dollarColumn(bills.flatMap((bill) => savedOf(bill) ?? []));
  return (
    <>
      <div class="talk-heads quiet small" aria-hidden="true">
        <span>Conversation</span>
        <span>Requests</span>
        <span>Cost</span>
        <span>Saved</span>
        <span>Biggest cut</span>
        <span>Last request</span>
      </div>
      <ul class="rows talks" aria-label="Conversations">
        {all.map((one) => (
          <Row key={one.row} conversation={one} cost={costs} saved={savings} />
        ))}
      </ul>
      {failure && <Trouble failure={failure} />}
      {more && (
        <button type="button" class="more" onClick={further}>
          More conversations
        </button>
      )}
    </>
  );
}

/** Display name of a conversation: first words of the user, else the task, else the id. */
export function nameOf({ opening, task, name }: Pick<ConversationShown, 'opening' | 'task' | 'name'>): string {
  return opening || task || name.slice(0, 20);
}

interface RowProps {
  readonly conversation: ConversationShown;
  readonly cost: (dollars: number) => string;
  readonly saved: (dollars: number) => string;
}

function Row({ conversation, cost: costWords, saved: savedWords }: RowProps) {
  const { project, bound, name, turns, seenMs, client, bill, compactions, continues, hit, side } = conversation;
  const cost = bill?.dollars ?? null;
  const net = bill && savedOf(bill);
  return (
    <li class={side ? 'talk-side' : ''}>
      <a class="talk" data-step href={to('conversation', project, name)}>
        <span class="talk-name">
          <b class={conversation.opening || conversation.task ? '' : 'mono'}>{nameOf(conversation)}</b>
          <span class="quiet small">
            {[project, client, bill && modelsOf(bill), bill?.wire].filter((part) => part).join(' · ')}
          </span>{' '}
          {bound && <BoundBadge />}
          {compactions > 0 && <Badge tone="warn">{plural(compactions, 'compaction')}</Badge>}
          {continues !== null && <Badge>goes on from a summary</Badge>}
        </span>
        <span class="talk-figure">
          {count(bill?.requests ?? turns)} <span class="talk-unit">requests</span>
        </span>
        <span class="talk-figure">
          <span class="talk-unit">cost</span> {cost === null ? '–' : costWords(cost)}
        </span>
        <span class="talk-figure">
          <span class="talk-unit">saved</span>{' '}
          {net === null ? (
            '–'
          ) : (
            <span class={net > 0 ? 'saves' : ''}>
              {savedWords(net)} <span class="quiet small">{share(net, bill?.dollarsWithout ?? 0)}</span>
            </span>
          )}
        </span>
        <span class="talk-figure">
          <span class="talk-unit">biggest cut</span>{' '}
          {bill && bill.biggestCut > 0 ? `−${compact(bill.biggestCut)}` : '–'}
        </span>
        <span class="talk-figure quiet">
          <Time ms={seenMs}>{ago(seenMs, Date.now())}</Time>
        </span>
      </a>
      {hit && (
        <p class="talk-hit small">
          <a href={to('text', hit.pruneId)}>
            <code>{hit.of || hit.pruneId}</code>
          </a>{' '}
          <span class="quiet">lines {hit.lines}</span> <code class="quiet breaks">{hit.text.replace(/\s+/g, ' ')}</code>
        </p>
      )}
    </li>
  );
}

/** What cuts saved in a conversation, less what its regrets cost, as in the totals; `null` without a price. */
function savedOf({ dollars, dollarsWithout, regretDollars }: NonNullable<ConversationShown['bill']>): number | null {
  return dollars === null || dollarsWithout === null ? null : dollarsWithout - dollars - regretDollars;
}

function modelsOf({ model, otherModels }: NonNullable<ConversationShown['bill']>): string {
  return otherModels > 0 ? `${model} +${otherModels}` : model;
}
