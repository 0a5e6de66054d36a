import { useEffect, useRef, useState } from 'preact/hooks';
import type { NoteShown, RequestShown } from '../../shapes.ts';
import { Failure, get, words } from '../api.tsx';
import { clock, compact, duration, number, plural } from '../format.tsx';
import { Trouble } from '../parts/loaded.tsx';
import { Badge, Empty, Head, Time } from '../parts/pieces.tsx';
import { TextView } from '../parts/text-view.tsx';
import { to } from '../route.tsx';
import { Start } from './start.tsx';

/** Requests that are shown at once; the older go, and come back by "Earlier". */
const MOST_SHOWN = 300;
const MOST_NOTES = 5;

interface Page {
  readonly requests: readonly RequestShown[];
  readonly next: number | null;
  readonly newest: number;
}

interface State {
  readonly requests: readonly RequestShown[];
  readonly notes: readonly NoteShown[];
  /** Came while it was paused. */
  readonly held: readonly RequestShown[];
  readonly next: number | null;
}

/** Requests as they come. */
export function LiveView() {
  const [state, setState] = useState<State | null>(null);
  const [failure, setFailure] = useState<Failure | null>(null);
  const [link, setLink] = useState<'joining' | 'on' | 'away' | 'lost'>('joining');
  const [paused, setPaused] = useState(false);
  const isPaused = useRef(false);
  isPaused.current = paused;
  const [round, setRound] = useState(0);

  useEffect(() => {
    let source: EventSource | null = null;
    let left = false;
    const came = (event: MessageEvent<string>): void => {
      const { requests, notes } = JSON.parse(event.data) as { requests: RequestShown[]; notes: NoteShown[] };
      setLink('on');
      setState((before) => before && withNew(before, requests.reverse(), notes.reverse(), isPaused.current));
    };
    get<Page>('requests').then(
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
        if (!left) setFailure(cause instanceof Failure ? cause : new Failure(0, 'unknown', words(cause)));
      },
    );
    return () => {
      left = true;
      source?.close();
    };
  }, [round]);

  const goOn = (): void => {
    setPaused(!paused);
    setState((before) => before && { ...withNew({ ...before, held: [] }, before.held, [], false) });
  };
  return (
    <>
      <Head title="Live" about="Requests as they come, and what was cut of each.">
        <LinkState link={link} />
        <button type="button" onClick={goOn} aria-pressed={paused}>
          {paused ? `Go on${state && state.held.length > 0 ? ` (${state.held.length} new)` : ''}` : 'Pause'}
        </button>
      </Head>
      {failure && <Trouble failure={failure} retry={() => setRound(round + 1)} />}
      {state && state.requests.length === 0 && (
        <Empty title="No request has come yet">
          <Start />
        </Empty>
      )}
      {state && state.notes.length > 0 && <Notes notes={state.notes} />}
      {state && state.requests.length > 0 && <Requests state={state} onMore={setState} onFailure={setFailure} />}
    </>
  );
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
  away: 'the store is away',
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

function Requests({
  state,
  onMore,
  onFailure,
}: {
  state: State;
  onMore: (change: (before: State | null) => State | null) => void;
  onFailure: (failure: Failure | null) => void;
}) {
  const [busy, setBusy] = useState(false);
  const earlier = (): void => {
    setBusy(true);
    get<Page>('requests', { before: state.next })
      .then(
        (page) => {
          onFailure(null);
          onMore(
            (before) => before && { ...before, requests: [...before.requests, ...page.requests], next: page.next },
          );
        },
        (cause: unknown) => onFailure(cause instanceof Failure ? cause : new Failure(0, 'unknown', words(cause))),
      )
      .finally(() => setBusy(false));
  };
  return (
    <>
      <ol class="rows requests" aria-label="Requests, the newest first">
        {state.requests.map((request) => (
          <Request key={request.seq} request={request} />
        ))}
      </ol>
      {state.next !== null && (
        <button type="button" class="more" onClick={earlier} disabled={busy}>
          Earlier requests
        </button>
      )}
    </>
  );
}

function Request({ request }: { request: RequestShown }) {
  const { texts, status, tokensSaved, upstreamError, fallbacks, end } = request;
  const cuts = texts.filter(({ pruneId }) => pruneId !== null).length;
  const isBad = status >= 400 || upstreamError !== null;
  return (
    <li>
      <details>
        <summary>
          <span class="request-when">
            <Time ms={request.atMs}>{clock(request.atMs)}</Time>
          </span>
          <span class="request-model">{request.model === '' ? 'unknown model' : request.model}</span>
          <span class="quiet request-wire">{request.wire}</span>
          <span class="quiet request-size">{plural(request.messages, 'message')}</span>
          <span class="request-saved">
            {tokensSaved > 0 ? (
              <Badge tone="good">
                −{compact(tokensSaved)} tokens{request.shadow ? ' (shadow)' : ''}
              </Badge>
            ) : (
              <span class="quiet">nothing cut</span>
            )}
            {cuts > 0 && <Badge tone="cut">{plural(cuts, 'new cut')}</Badge>}
            {fallbacks.length > 0 && <Badge tone="warn">fallback</Badge>}
            {isBad && <Badge tone="bad">{upstreamError ?? status}</Badge>}
            {end !== 'answered' && end !== '' && <Badge tone="warn">{end.replaceAll('_', ' ')}</Badge>}
          </span>
          <span class="quiet request-time">{duration(request.totalMs)}</span>
        </summary>
        <div class="request-body">
          {fallbacks.length > 0 && <p>Done without: {fallbacks.join(', ')}</p>}
          {texts.length === 0 && <p class="quiet">Nothing in it was new and large enough to be looked at.</p>}
          {texts.length > 0 && <Texts texts={texts} />}
          {request.more > 0 && <p class="quiet">and {plural(request.more, 'more text')}</p>}
          <p>
            <a href={to('conversation', '', request.conversation)}>Open its conversation</a>
          </p>
        </div>
      </details>
    </li>
  );
}

function Texts({ texts }: { texts: RequestShown['texts'] }) {
  return (
    <ul class="texts">
      {texts.map((text, i) => (
        <li key={text.pruneId ?? i}>
          {text.pruneId === null ? (
            <>
              <code>{nameOf(text)}</code>{' '}
              <span class="quiet">
                {plural(text.lines, 'line')}, left whole
                {text.whole === '' ? '' : `: ${text.whole.replaceAll('_', ' ')}`}
              </span>
            </>
          ) : (
            <Cut text={text} pruneId={text.pruneId} />
          )}
        </li>
      ))}
    </ul>
  );
}

const nameOf = ({ tool }: RequestShown['texts'][number]): string => (tool === '' ? 'text' : tool);

/** One cut text; its lines and reasons open below it. */
function Cut({ text, pruneId }: { text: RequestShown['texts'][number]; pruneId: string }) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <code>{nameOf(text)}</code> {number(text.lines - text.keptLines)} of {plural(text.lines, 'line')} cut,{' '}
      {compact(text.tokensBefore)} → {compact(text.tokensAfter)} tokens{' '}
      <button type="button" class="small" aria-expanded={open} onClick={() => setOpen(!open)}>
        {open ? 'Close' : 'Why?'}
        <span class="unseen"> The reasons for the cuts of {nameOf(text)}</span>
      </button>
      {open && <TextView id={pruneId} explained />}
    </>
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
