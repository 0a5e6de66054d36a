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
