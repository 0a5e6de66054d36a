import type { RequestListener } from 'node:http';
import { sendError } from '../proxy/openai-error.ts';

/** Answers by what is opened with the first request; requests that come meanwhile wait for it. */
export function onDemand(open: () => Promise<RequestListener>, onFailure: (cause: unknown) => void): RequestListener {
  let opened: Promise<RequestListener> | null = null;
  return (req, res) => {
    opened ??= open();
    opened.then(
      (listener) => {
        if (!req.destroyed) listener(req, res);
      },
      (cause: unknown) => {
        opened = null; // the next request tries again
        onFailure(cause);
        sendError(res, 'internal_error', 'The part of the server that answers this could not be loaded.');
      },
    );
  };
}
