import { useEffect, useRef } from 'preact/hooks';

/** Delay after a request before figures are reloaded, because reporting on a full ledger is expensive. */
const PAUSE_MS = 30_000;

/** Calls `onNews` `PAUSE_MS` after a request, if the page is visible then. */
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
