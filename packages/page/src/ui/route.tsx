import { useCallback, useEffect, useState } from 'preact/hooks';

/** The current route: decoded parts of the URL after `#/`, without the query. */
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

/** URL of the previous view with its filters; `null` if this is the first one. */
export const previousView = (): string | null => previous;

export function to(...parts: readonly string[]): string {
  return `#/${parts.map(encodeURIComponent).join('/')}`;
}

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
 * Filters of a view, kept in the URL so that links and reloads preserve them. An empty value removes a filter. The URL
 * is replaced, so that "back" leads to the previous view, not to the previous filter.
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
