import type { RequestListener } from 'node:http';
import type { FailureReporter } from '../base/failures.ts';
import { sendError } from './send-error.ts';

/** A module that is loaded after the port was opened. */
export interface LoadedLater {
  /** Requests that arrive during loading wait for it. */
  readonly listener: RequestListener;
  /** Never rejects. */
  readonly settled: Promise<void>;
  readonly state: () => 'loading' | 'ok' | 'restart_needed';
}

/**
 * Loads a module at start instead of on its first request: by then, an upgrade may have replaced its files, or file
 * descriptors may be exhausted. Node caches a failed import for the life of the process, so only a restart helps; error
 * responses and `/health` say so.
 */
export function loadSoon(open: () => Promise<RequestListener>, onFailure: FailureReporter): LoadedLater {
  let state: ReturnType<LoadedLater['state']> = 'loading';
  const opened = open().then(
    (listener) => {
      state = 'ok';
      return listener;
    },
    (cause: unknown) => {
      state = 'restart_needed';
      onFailure('restart_needed', cause);
      return null;
    },
  );
  return {
    listener: (req, res) => {
      void opened.then((listener) => {
        if (listener === null) sendError(res, 'restart_needed');
        else if (!req.destroyed) listener(req, res);
      });
    },
    settled: opened.then(() => {}),
    state: () => state,
  };
}

/**
 * Loads a module on its first request, because most processes never need it. If loading fails, requests are answered
 * with `restart_needed`.
 */
export function onDemand(open: () => Promise<RequestListener>, onFailure: FailureReporter): RequestListener {
  let later: LoadedLater | null = null;
  return (req, res) => {
    later ??= loadSoon(open, onFailure);
    later.listener(req, res);
  };
}
