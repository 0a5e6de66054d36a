import type { ComponentChildren } from 'preact';
import { useCallback, useEffect, useRef, useState } from 'preact/hooks';
import { type Failure, failureOf, get } from '../api.tsx';

export interface Loaded<T> {
  readonly value: T | null;
  readonly failure: Failure | null;
  readonly loading: boolean;
  readonly reload: () => void;
}

type Query = Parameters<typeof get>[1];

/** Reads data from the server. A new query clears the old value; a reload keeps it until the new value arrives. */
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

/** Shows what was read, or why it is not there and what to do. */
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
