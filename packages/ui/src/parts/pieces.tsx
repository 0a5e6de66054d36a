import type { ComponentChildren, RefObject } from 'preact';
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { type Failure, failureOf, get } from '../api.tsx';
import { iso, when } from '../format.tsx';

interface Loaded<T> {
  readonly value: T | null;
  readonly failure: Failure | null;
  readonly loading: boolean;
  readonly reload: () => void;
}

type Query = Parameters<typeof get>[1];

/** Loads data from the server. A new query clears the old value; a reload keeps it until the new one arrives. */
export function useLoaded<T>(path: string, query: Query = {}): Loaded<T> {
  const [state, setState] = useState<Omit<Loaded<T>, 'reload'>>({ value: null, failure: null, loading: true });
  const [round, setRound] = useState(0);
  const key = JSON.stringify([path, query]);
  const last = useRef(key);
  useEffect(() => {
    const leave = new AbortController();
    const isOther = last.current !== key;
    last.current = key;
    setState((before) => ({ value: isOther ? null : before.value, failure: null, loading: true }));
    get<T>(path, query, leave.signal).then(
      (value) => setState({ value, failure: null, loading: false }),
      (cause: unknown) => {
        if (leave.signal.aborted) return;
        const failure = failureOf(cause);
        setState((before) => ({ ...before, failure, loading: false }));
      },
    );
    return () => leave.abort();
  }, [key, round]);
  const reload = useCallback(() => setRound((n) => n + 1), []);
  return { ...state, reload };
}

/** Shows loaded data, or why it is missing and what to do. */
export function Show<T>({
  loaded: { value, failure, loading, reload },
  children,
}: {
  readonly loaded: Loaded<T>;
  readonly children: (value: T) => ComponentChildren;
}) {
  return (
    <>
      {failure && <Trouble failure={failure} retry={reload} />}
      {value !== null && children(value)}
      {value === null && loading && <p class="quiet loading">Loading…</p>}
    </>
  );
}

const ADVICE: Readonly<Record<string, string>> = {
  store_unavailable:
    'The store cannot be read at the moment. Meanwhile, requests are forwarded unpruned. The Doctor view, or mcp-pruner doctor, shows the cause.',
  no_answer: 'Start mcp-pruner serve again, then press Try again.',
};

export function Trouble({ failure, retry }: { readonly failure: Failure; readonly retry?: () => void }) {
  return (
    <div class="note bad" role="alert">
      <div>
        <strong>{failure.type === 'store_unavailable' ? 'The store is not available' : failure.message}</strong>
        {ADVICE[failure.type] && <p>{ADVICE[failure.type]}</p>}
      </div>
      {retry && (
        <button type="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  );
}

/** Heading of a view; takes the focus when the view opens, so that a screen reader announces the view. */
export function Head({
  title,
  about,
  children,
}: {
  title: string;
  about?: ComponentChildren;
  children?: ComponentChildren;
}) {
  return (
    <header class="head">
      <div>
        <h1 tabIndex={-1}>{title}</h1>
        {about && <p class="quiet">{about}</p>}
      </div>
      {children && <div class="head-side">{children}</div>}
    </header>
  );
}

export function Card({
  title,
  side,
  children,
  flush = false,
}: {
  title?: string;
  side?: ComponentChildren;
  children: ComponentChildren;
  flush?: boolean;
}) {
  return (
    <section class={flush ? 'card flush' : 'card'}>
      {title && (
        <div class="card-head">
          <h2>{title}</h2>
          {side}
        </div>
      )}
      {children}
    </section>
  );
}

/** A figure with its name and an explanation. */
export function Figure({
  name,
  value,
  about,
  tone = '',
}: {
  name: string;
  value: string;
  about?: string;
  tone?: string;
}) {
  return (
    <div class={`figure ${tone}`}>
      <dt>{name}</dt>
      <dd>
        <b>{value}</b>
        {about && <span>{about}</span>}
      </dd>
    </div>
  );
}

export function Badge({ tone = '', children }: { tone?: string; children: ComponentChildren }) {
  return <span class={`badge ${tone}`}>{children}</span>;
}

/** Marks conversations in which pins, stashes and deletions do not affect sent texts. */
export function BoundBadge() {
  return (
    <span class="badge" title="The provider verifies what was sent before, so texts already sent can no longer change.">
      verified history
    </span>
  );
}

/** Advice in an empty view. */
export function Empty({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <div class="empty">
      <svg viewBox="0 0 48 48" aria-hidden="true">
        <path d="M10 12h28M10 20h10M30 20h8M10 28h5M25 28h13M10 36h28" />
        <path class="cutline" d="M16 42 34 6" />
      </svg>
      <h2>{title}</h2>
      {children}
    </div>
  );
}

export function Time({ ms, children }: { ms: number; children?: ComponentChildren }) {
  return (
    <time dateTime={iso(ms)} title={when(ms)}>
      {children ?? when(ms)}
    </time>
  );
}

interface ScrollAreaProps {
  readonly label: string;
  readonly class: string;
  readonly dir?: 'ltr';
  readonly place?: RefObject<HTMLElement | null>;
  readonly children: ComponentChildren;
}

/** A region that scrolls by itself, also by keyboard. */
export function ScrollArea({ label, place, children, ...attributes }: ScrollAreaProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
    <section {...attributes} tabIndex={0} aria-label={label} ref={place}>
      {children}
    </section>
  );
}

/** A wide table with its own scrolling, also by keyboard. On a phone, its rows are stacked instead. */
export function Scroll({ label, children }: { label: string; children: ComponentChildren }) {
  const place = useRef<HTMLElement>(null);
  useLayoutEffect(() => {
    for (const table of place.current?.querySelectorAll('table') ?? []) stack(table);
  });
  return (
    <ScrollArea class="scroll" label={label} place={place}>
      {children}
    </ScrollArea>
  );
}

/** Tables with more columns are stacked on a phone. */
const FEW_COLUMNS = 3;

/** Prepares a table for stacked rows: its cells need the names of their columns, and roles, which `display` removes. */
function stack(table: HTMLTableElement): void {
  const [heads] = table.tHead?.rows ?? [];
  if (heads === undefined || heads.cells.length <= FEW_COLUMNS) return;
  table.classList.add('stacks');
  table.setAttribute('role', 'table');
  for (const part of [table.tHead, ...table.tBodies]) part?.setAttribute('role', 'rowgroup');
  for (const row of table.rows) {
    row.setAttribute('role', 'row');
    for (const cell of row.cells) {
      const ofCell = cell.tagName === 'TD' ? 'cell' : row === heads ? 'columnheader' : 'rowheader';
      cell.setAttribute('role', ofCell);
      if (row !== heads) cell.dataset.label = heads.cells[cell.cellIndex]?.textContent ?? '';
    }
  }
}

/** A right-aligned column of figures with a heading. */
interface Amounts {
  readonly amount: string;
}

/** A table with a row of heads, which scrolls by itself where it is wide; its rows are the children. */
export function Table({
  label,
  heads,
  tight = false,
  children,
}: {
  label: string;
  heads: readonly (string | Amounts)[];
  tight?: boolean;
  children: ComponentChildren;
}) {
  return (
    <Scroll label={label}>
      <table class={tight ? 'tight' : undefined}>
        <thead>
          <tr>
            {heads.map((head) =>
              typeof head === 'string' ? (
                <th scope="col" key={head}>
                  {head}
                </th>
              ) : (
                <th scope="col" class="amount" key={head.amount}>
                  {head.amount}
                </th>
              ),
            )}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </Scroll>
  );
}

/** A share as a bar. Hidden from screen readers, so callers also show the figure as text. */
export function Bar({ part, all, tone = '' }: { part: number; all: number; tone?: string }) {
  const width = all > 0 ? Math.max(0, Math.min(1, part / all)) : 0;
  return (
    <span class={`bar ${tone}`} aria-hidden="true">
      <i style={{ width: `${width * 100}%` }} />
    </span>
  );
}
