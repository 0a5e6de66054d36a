import type { RequestListener } from 'node:http';
import type { FailureReporter } from '../failures.ts';
import { sendError } from './openai-error.ts';

/** Modules that are loaded after the port was opened. */
export interface LoadedLater {
  /** Requests that come while it loads wait for it. */
  readonly listener: RequestListener;
  /** Never rejects. */
  readonly settled: Promise<void>;
  readonly state: () => 'loading' | 'ok' | 'restart_needed';
}

/**
 * Loads a part at once, not with the first request for it: later its files may have been replaced by an upgrade, or no
 * descriptor be left to read them. Node keeps a load that failed for as long as the process lives, so that only a restart
 * helps, and requests and `/health` say so.
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
 * Loads a part with the first request for it: one that most processes never need. Where that fails, requests are told
 * that only a restart helps.
 */
export function onDemand(open: () => Promise<RequestListener>, onFailure: FailureReporter): RequestListener {
  let later: LoadedLater | null = null;
  return (req, res) => {
    later ??= loadSoon(open, onFailure);
    later.listener(req, res);
  };
}
