import { useCallback, useEffect, useState } from 'preact/hooks';

/** The current route: the decoded parts of the address after `#/`, without the query. */
export type Route = readonly string[];

const MOVED = 'querychange';

function hashParts(): readonly [path: string, query: string] {
  const [path = '', query = ''] = location.hash.replace(/^#\/?/, '').split('?', 2);
  return [path, query];
}

function now(): Route {
  const [path] = hashParts();
  return path === '' ? ['overview'] : path.split('/').map(decoded);
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}

let opened = location.hash;
let previous: string | null = null;
addEventListener('hashchange', () => {
  previous = opened;
  opened = location.hash;
});

/** Address of the view that was open before this one, with its filters; `null` if this is the first. */
export const previousView = (): string | null => previous;

/** Address of a view. */
export function to(...parts: readonly string[]): string {
  return `#/${parts.map(encodeURIComponent).join('/')}`;
}

/** Address of a view with filters. */
export function toFiltered(view: string, filters: Readonly<Record<string, string>>): string {
  const query = new URLSearchParams(filters).toString();
  return query === '' ? to(view) : `${to(view)}?${query}`;
}

export function useRoute(): Route {
  const [route, setRoute] = useState(now);
  useEffect(() => {
    const changed = (): void => setRoute(now());
    addEventListener('hashchange', changed);
    return () => removeEventListener('hashchange', changed);
  }, []);
  return route;
}

export type Filters = Readonly<Record<string, string>>;

/**
 * The filters of a view, as in its address, so that a link or a reload shows the same again. An empty value removes a
 * filter. The address is replaced: "back" leads to the view before, not to the filter before.
 */
export function useFilters(): readonly [Filters, (change: Filters) => void] {
  const [filters, setFilters] = useState(() => Object.fromEntries(new URLSearchParams(hashParts()[1])));
  useEffect(() => {
    const changed = (): void => setFilters(Object.fromEntries(new URLSearchParams(hashParts()[1])));
    addEventListener('hashchange', changed);
    addEventListener(MOVED, changed);
    return () => {
      removeEventListener('hashchange', changed);
      removeEventListener(MOVED, changed);
    };
  }, []);
  const change = useCallback((by: Filters): void => {
    const [path, query] = hashParts();
    const next = new URLSearchParams(query);
    for (const [name, value] of Object.entries(by)) {
      if (value === '') next.delete(name);
      else next.set(name, value);
    }
    const search = next.toString();
    history.replaceState(null, '', `#/${path || 'overview'}${search === '' ? '' : `?${search}`}`);
    opened = location.hash;
    dispatchEvent(new Event(MOVED));
  }, []);
  return [filters, change];
}
