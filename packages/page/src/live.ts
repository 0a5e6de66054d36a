import type { Request, Response } from 'express';
import { groupByRequest } from './requests.ts';
import type { PageParts } from './views.ts';

/** Maximum number of concurrent streams; further ones are refused. */
const MOST_STREAMS = 16;
/** Poll interval of a stream, because other processes write too, and number of polls per heartbeat. */
const POLL_MS = 1_000;
const BEAT_EVERY = 15;
const AT_ONCE = 500;
/** Maximum number of bytes buffered for a slow page; beyond it, the page is disconnected and reconnects by itself. */
const MOST_WAITING_BYTES = 4 * 1024 * 1024;

/** Streams new requests as server-sent events: `happened`, and `away` and `back` as the store fails and recovers. */
export class LiveFeed {
  readonly #parts: PageParts;
  readonly #streams = new Set<AbortController>();

  constructor(parts: PageParts) {
    this.#parts = parts;
    const endAll = (): void => {
      for (const stream of this.#streams) stream.abort();
    };
    // an open stream would delay the server's stop
    parts.stopping.addEventListener('abort', endAll, { once: true });
  }

  get isFull(): boolean {
    return this.#streams.size >= MOST_STREAMS || this.#parts.stopping.aborted;
  }

  /** Streams until the page leaves or the server stops. Never rejects. @param from - the first event to send */
  async stream(req: Request, res: Response, from: number | null): Promise<void> {
    const gone = new AbortController();
    this.#streams.add(gone);
    res.setHeader('Content-Type', 'text/event-stream; charset=utf-8');
    res.setHeader('X-Accel-Buffering', 'no');
    res.write('retry: 2000\n\n');
    const end = (): void => gone.abort();
    req.once('close', end);
    res.once('close', end);
    res.on('error', end);
    try {
      await this.#follow(res, from, gone.signal);
    } catch (cause) {
      this.#parts.onFailure('internal_error', cause);
    } finally {
      this.#streams.delete(gone);
      res.end();
    }
  }

  async #follow(res: Response, from: number | null, gone: AbortSignal): Promise<void> {
    let next = from;
    let away = false;
    for (let polls = 0; !gone.aborted; polls++) {
      try {
        next ??= (await this.#parts.store.records.lastSeq()) + 1;
        next = await this.#send(res, next);
        if (away) res.write('event: back\ndata: {}\n\n');
        away = false;
      } catch (cause) {
        if (!away) {
          this.#parts.onFailure('not_followed', cause);
          res.write('event: away\ndata: {}\n\n');
        }
        away = true;
      }
      if (polls % BEAT_EVERY === 0) res.write(': alive\n\n');
      if (res.writableLength > MOST_WAITING_BYTES) {
        res.destroy();
        return;
      }
      await this.#somethingWritten(gone);
    }
  }

  /** @returns the position to continue from */
  async #send(res: Response, from: number): Promise<number> {
    let next = from;
    for (;;) {
      const events = await this.#parts.store.events({ fromSeq: next, limit: AT_ONCE });
      if (events.length === 0) return next;
      const isFull = events.length === AT_ONCE;
      // the last request of a full batch may be incomplete, so it is read again unless it is the only one
      const last = isFull ? events.findLastIndex(({ kind }) => kind === 'request') : -1;
      const whole = last > 0 ? events.slice(0, last) : events;
      next = (whole.at(-1)?.seq ?? next) + 1;
      res.write(`id: ${next - 1}\nevent: happened\ndata: ${JSON.stringify(groupByRequest(whole))}\n\n`);
      if (!isFull) return next;
    }
  }

  #somethingWritten(gone: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        forget();
        gone.removeEventListener('abort', done);
        resolve();
      };
      const timer = setTimeout(done, POLL_MS);
      const forget = this.#parts.onWritten(done);
      if (gone.aborted) done();
      else gone.addEventListener('abort', done, { once: true });
    });
  }
}
