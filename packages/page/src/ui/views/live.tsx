import { type Failure, failureOf, get } from '@mcp-pruner/ui/api.tsx';
import { clock } from '@mcp-pruner/ui/format.tsx';
import { Empty, Head, Time, Trouble, useLoaded } from '@mcp-pruner/ui/parts/pieces.tsx';
import type { RequestCost } from 'mcp-pruner/core/ports/browse.ts';
import { useEffect, useRef, useState } from 'preact/hooks';
import { fits, type RequestFilters, withCost } from '../../requests.ts';
import type { FacetsShown, NoteShown, RequestShown } from '../../shapes.ts';
import { Choose, Facet } from '../parts/filters.tsx';
import { useFilters } from '../route.tsx';
import { Requests } from './live-requests.tsx';
import { Start } from './start.tsx';

/** Maximum number of requests shown. Older ones are dropped; "Earlier requests" loads them again. */
const MOST_SHOWN = 300;
const MOST_NOTES = 5;
/** Delay before the cost is requested, because billing follows shortly after the answer. */
const BILLED_AFTER_MS = 1_500;
const MOST_ASKED = 50;

export interface Page {
  readonly requests: readonly RequestShown[];
  readonly next: number | null;
  readonly newest: number;
}

export interface State {
  readonly requests: readonly RequestShown[];
  readonly notes: readonly NoteShown[];
  readonly held: readonly RequestShown[];
  readonly next: number | null;
}

/** Live requests that match filters. While `paused`, new ones are held back. */
function useRequests(filters: RequestFilters, paused: boolean) {
  const [state, setState] = useState<State | null>(null);
  const [failure, setFailure] = useState<Failure | null>(null);
  const [link, setLink] = useState<'joining' | 'on' | 'away' | 'lost'>('joining');
  const [round, setRound] = useState(0);
  const isPaused = useRef(false);
  isPaused.current = paused;
  const wanted = useRef(filters);
  wanted.current = filters;
  const chosen = JSON.stringify(filters);
  useEffect(() => {
    let source: EventSource | null = null;
    let left = false;
    const came = (event: MessageEvent<string>): void => {
      const { requests, notes } = JSON.parse(event.data) as { requests: RequestShown[]; notes: NoteShown[] };
      setLink('on');
      const fit = requests.filter((one) => fits(one, wanted.current)).reverse();
      setState((before) => before && withNew(before, fit, notes.reverse(), isPaused.current));
      if (fit.length > 0) setTimeout(askCosts, BILLED_AFTER_MS, fit);
    };
    const askCosts = (requests: readonly RequestShown[]): void => {
      const ids = requests.slice(0, MOST_ASKED).map(({ requestId }) => requestId);
      get<{ costs: Record<string, RequestCost> }>('costs', { ids: ids.join(',') }).then(
        ({ costs }) => {
          if (!left) setState((before) => before && withCosts(before, costs));
        },
        () => {}, // a cost that cannot be read now is loaded when the view is reopened
      );
    };
    setState(null);
    get<Page>('requests', { ...wanted.current }).then(
      ({ requests, next, newest }) => {
        if (left) return;
        setFailure(null);
        setState({ requests, notes: [], held: [], next });
        source = new EventSource(`/page/api/live?from=${newest + 1}`);
        source.onopen = () => setLink('on');
        source.onerror = () => setLink('lost');
        source.addEventListener('happened', came);
        source.addEventListener('away', () => setLink('away'));
        source.addEventListener('back', () => setLink('on'));
      },
      (cause: unknown) => {
        if (!left) setFailure(failureOf(cause));
      },
    );
    return () => {
      left = true;
      source?.close();
    };
  }, [round, chosen]);
  return { state, setState, failure, setFailure, link, retry: () => setRound(round + 1) };
}

export function LiveView() {
  const [paused, setPaused] = useState(false);
  const [filters, change] = useFilters();
  const facets = useLoaded<FacetsShown>('facets');
  const requestFilters = requestFiltersOf(filters);
  const { state, setState, failure, setFailure, link, retry } = useRequests(requestFilters, paused);
  const togglePause = (): void => {
    setPaused(!paused);
    setState((before) => before && { ...withNew({ ...before, held: [] }, before.held, [], false) });
  };
  return (
    <>
      <Head title="Live" about="Requests as they arrive, and what was cut from each.">
        <LinkState link={link} />
        <button type="button" onClick={togglePause} aria-pressed={paused}>
          {paused ? `Go on${state && state.held.length > 0 ? ` (${state.held.length} new)` : ''}` : 'Pause'}
        </button>
      </Head>
      {facets.value && <Filter facets={facets.value} filters={requestFilters} onChange={change} />}
      {failure && <Trouble failure={failure} retry={retry} />}
      {state &&
        state.requests.length === 0 &&
        (Object.keys(requestFilters).length === 0 ? (
          <Empty title="No request has arrived yet">
            <Start />
          </Empty>
        ) : (
          <p class="quiet">No request matches the filters so far.</p>
        ))}
      {state && state.notes.length > 0 && <Notes notes={state.notes} />}
      {state && (state.requests.length > 0 || state.next !== null) && (
        <Requests state={state} filters={requestFilters} onMore={setState} onFailure={setFailure} />
      )}
    </>
  );
}

function requestFiltersOf({ project, client, model, only }: Readonly<Record<string, string>>): RequestFilters {
  return {
    ...(project && { project }),
    ...(client && { client }),
    ...(model && { model }),
    ...((only === 'cut' || only === 'fault') && { only }),
  };
}

const ONLY = [
  ['cut', 'with new cuts'],
  ['fault', 'with faults'],
] as const;

function Filter({
  facets,
  filters,
  onChange,
}: {
  facets: FacetsShown;
  filters: RequestFilters;
  onChange: (change: Readonly<Record<string, string>>) => void;
}) {
  return (
    <search class="filter">
      <Facet name="project" any="all projects" values={facets.projects} value={filters.project} onChange={onChange} />
      <Facet name="client" any="all clients" values={facets.clients} value={filters.client} onChange={onChange} />
      <Facet name="model" any="all models" values={facets.models} value={filters.model} onChange={onChange} />
      <Choose
        label="Only requests"
        any="all requests"
        values={ONLY}
        value={filters.only ?? ''}
        onChoose={(only) => onChange({ only })}
      />
    </search>
  );
}

function withCosts(state: State, costs: Readonly<Record<string, RequestCost>>): State {
  const priced = (one: RequestShown): RequestShown => withCost(one, costs[one.requestId]);
  return { ...state, requests: state.requests.map(priced), held: state.held.map(priced) };
}

function withNew(state: State, requests: readonly RequestShown[], notes: readonly NoteShown[], paused: boolean): State {
  if (paused) return { ...state, held: [...requests, ...state.held].slice(0, MOST_SHOWN) };
  const all = [...requests, ...state.requests];
  const shown = all.slice(0, MOST_SHOWN);
  const next = all.length > shown.length ? (shown.at(-1)?.seq ?? state.next) : state.next;
  return { ...state, requests: shown, notes: [...notes, ...state.notes].slice(0, MOST_NOTES), next };
}

const LINKS = {
  joining: 'joining…',
  on: 'following',
  away: 'the store is not available',
  lost: 'connection lost; trying again',
};

function LinkState({ link }: { link: keyof typeof LINKS }) {
  return (
    <p class={`state ${link === 'on' ? 'good' : 'warn'}`} role="status">
      <i aria-hidden="true" />
      {LINKS[link]}
    </p>
  );
}

function Notes({ notes }: { notes: readonly NoteShown[] }) {
  return (
    <ul class="notes" aria-label="What else happened">
      {notes.map(({ seq, atMs, kind, facts }) => (
        <li key={seq}>
          <Time ms={atMs}>{clock(atMs)}</Time> <b>{kind.replaceAll('_', ' ')}</b>{' '}
          <span class="quiet">
            {Object.entries(facts)
              .map(([key, value]) => `${key.replaceAll('_', ' ')} ${value}`)
              .join(', ')}
          </span>
        </li>
      ))}
    </ul>
  );
}
