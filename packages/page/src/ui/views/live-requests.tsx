import { type Failure, failureOf, get } from '@mcp-pruner/ui/api.tsx';
import { clock, compact, dayName, dollarColumn, duration, iso } from '@mcp-pruner/ui/format.tsx';
import { Badge, Time } from '@mcp-pruner/ui/parts/pieces.tsx';
import { count, plural } from 'mcp-pruner/base/counts.ts';
import { leftWholeWords } from 'mcp-pruner/core/left-whole.ts';
import { type FallbackRow, fallbackTable } from 'mcp-pruner/errors/rows/of-fallbacks.ts';
import { useState } from 'preact/hooks';
import type { RequestFilters } from '../../requests.ts';
import type { RequestShown } from '../../shapes.ts';
import { TextView } from '../parts/text-view.tsx';
import { to } from '../route.tsx';
import type { Page, State } from './live.tsx';

export function Requests({
  state,
  filters,
  onMore,
  onFailure,
}: {
  state: State;
  filters: RequestFilters;
  onMore: (change: (before: State | null) => State | null) => void;
  onFailure: (failure: Failure | null) => void;
}) {
  const [busy, setBusy] = useState(false);
  const earlier = (): void => {
    setBusy(true);
    get<Page>('requests', { ...filters, before: state.next })
      .then(
        (page) => {
          onFailure(null);
          onMore(
            (before) => before && { ...before, requests: [...before.requests, ...page.requests], next: page.next },
          );
        },
        (cause: unknown) => onFailure(failureOf(cause)),
      )
      .finally(() => setBusy(false));
  };
  const costs = dollarColumn(state.requests.flatMap((request) => request.dollars ?? []));
  return (
    <>
      {days(state.requests).map(({ day, requests }) => (
        <section key={day} aria-label={`Requests of ${day}`}>
          <h2 class="day">{dayOf(day)}</h2>
          <ol class="rows requests" aria-label="Requests, the newest first">
            {requests.map((request, i) => (
              <Request key={request.seq} request={request} above={requests[i - 1]} cost={costs} />
            ))}
          </ol>
        </section>
      ))}
      {state.next !== null && (
        <button type="button" class="more" onClick={earlier} disabled={busy}>
          Earlier requests
        </button>
      )}
    </>
  );
}

function days(requests: readonly RequestShown[]): { readonly day: string; readonly requests: RequestShown[] }[] {
  const found: { readonly day: string; readonly requests: RequestShown[] }[] = [];
  for (const request of requests) {
    const day = localDay(request.atMs);
    const last = found.at(-1);
    if (last?.day === day) last.requests.push(request);
    else found.push({ day, requests: [request] });
  }
  return found;
}

function localDay(ms: number): string {
  return iso(ms - new Date(ms).getTimezoneOffset() * 60_000).slice(0, 10);
}

function dayOf(day: string): string {
  const [today, yesterday] = [localDay(Date.now()), localDay(Date.now() - 86_400_000)];
  return day === today ? 'Today' : day === yesterday ? 'Yesterday' : dayName(day);
}

const whoOf = ({ project, client, model, wire }: RequestShown): string =>
  [client, model || 'unknown model', wire].filter((part) => part !== '').join(' · ') + project;

interface RowProps {
  readonly request: RequestShown;
  /** The request above; values equal to it are dimmed. */
  readonly above: RequestShown | undefined;
  readonly cost: (dollars: number) => string;
}

const FALLBACKS: Readonly<Record<string, FallbackRow | undefined>> = fallbackTable;

/** What happened to a request and what can be done; only the code if there are no words for it. */
function Fallback({ code }: { code: string }) {
  const row = FALLBACKS[code];
  if (row === undefined) return <p>Fallback: {code}</p>;
  return (
    <p class="note warn">
      {row.about.charAt(0).toUpperCase() + row.about.slice(1)}. {row.hint}
    </p>
  );
}

function Request({ request, above, cost }: RowProps) {
  const { texts, status, tokensSaved, upstreamError, fallbacks, end } = request;
  const cuts = texts.filter(({ pruneId }) => pruneId !== null).length;
  const isBad = status >= 400 || upstreamError !== null;
  return (
    <li>
      <details>
        <summary data-step>
          <span class="request-when">
            <Time ms={request.atMs}>{clock(request.atMs)}</Time>
          </span>
          <span class={above && whoOf(above) === whoOf(request) ? 'request-who same' : 'request-who'}>
            {request.project !== '' && <b>{request.project}</b>}
            <span>
              {[request.client, request.model || 'unknown model', request.wire].filter((part) => part).join(' · ')}
            </span>
          </span>
          <span class="quiet request-size">
            {request.messages > 0 ? plural(request.messages, 'message') : 'not read'}
          </span>
          <span class="request-saved">
            {tokensSaved > 0 ? (
              <Badge tone="good">
                −{compact(tokensSaved)} tokens{cuts > 0 ? ` in ${plural(cuts, 'cut')}` : ''}
                {request.shadow ? ' (shadow)' : ''}
              </Badge>
            ) : null}
            {fallbacks.length > 0 && <Badge tone="warn">fallback</Badge>}
            {isBad && <Badge tone="bad">{upstreamError ?? status}</Badge>}
            {end !== 'answered' && end !== '' && <Badge tone="warn">{end.replaceAll('_', ' ')}</Badge>}
          </span>
          <span class="request-cost">{request.dollars === null ? '–' : cost(request.dollars)}</span>
          <span class="quiet request-time">{duration(request.totalMs)}</span>
        </summary>
        <div class="request-body">
          {fallbacks.map((code) => (
            <Fallback key={code} code={code} />
          ))}
          <LeftWhole request={request} />
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

function LeftWhole({ request: { leftWhole, texts } }: { request: RequestShown }) {
  const reasons = Object.entries(leftWhole);
  if (reasons.length === 0)
    return texts.length > 0 ? null : <p class="quiet">The request brought no new tool result or file.</p>;
  const words = reasons.map(([code, texts]) => (texts > 0 ? `${count(texts)}: ` : '') + leftWholeWords(code));
  return <p class="quiet">New results left whole: {words.join('; ')}.</p>;
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
                {text.whole === '' ? '' : `: ${leftWholeWords(text.whole)}`}
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

/** A cut text; its lines and reasons open below it. */
function Cut({ text, pruneId }: { text: RequestShown['texts'][number]; pruneId: string }) {
  const [open, setOpen] = useState(false);
  return (
    <>
      <code>{nameOf(text)}</code> {count(text.lines - text.keptLines)} of {plural(text.lines, 'line')} cut{' '}
      <button type="button" class="small" data-cut aria-expanded={open} onClick={() => setOpen(!open)}>
        {open ? 'Close' : 'Why?'}
        <span class="unseen"> The reasons for the cuts of {nameOf(text)}</span>
      </button>
      {open && <TextView id={pruneId} explained />}
    </>
  );
}
