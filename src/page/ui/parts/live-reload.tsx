import { useEffect, useRef } from 'preact/hooks';

/** A figure is read again so long after a request came, so that a busy proxy does not make the page busy. */
const PAUSE_MS = 4_000;

/** Calls back some seconds after requests came, while the page is seen. */
export function useNews(onNews: () => void): void {
  const last = useRef(onNews);
  last.current = onNews;
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const source = new EventSource('/page/api/live');
    source.addEventListener('happened', () => {
      timer ??= setTimeout(() => {
        timer = undefined;
        if (!document.hidden) last.current();
      }, PAUSE_MS);
    });
    return () => {
      source.close();
      clearTimeout(timer);
    };
  }, []);
}
