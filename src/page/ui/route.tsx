import { useEffect, useState } from 'preact/hooks';

/** Where the page is: the parts of its address behind `#/`, decoded. */
export type Route = readonly string[];

function now(): Route {
  const path = location.hash.replace(/^#\/?/, '');
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

/** Address of the view that was open before this one; `null` if this is the first. */
export const previousView = (): string | null => previous;

/** Address of a view. */
export function to(...parts: readonly string[]): string {
  return `#/${parts.map(encodeURIComponent).join('/')}`;
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
