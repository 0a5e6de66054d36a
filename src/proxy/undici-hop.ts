import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Dispatcher } from 'undici';
import type { Outgoing, PassOn } from './pass-on.ts';

/** The channel on which undici tells over which connection it begins to send. */
const SENDING = 'undici:client:sendHeaders';

/** Sends requests by a dispatcher of undici, and knows which went over a connection that had served before. */
export class UndiciHop {
  readonly #dispatcher: Dispatcher;
  readonly #served = new WeakSet<object>();
  /** Begins to send; undici tells its connection before it does anything else. */
  #starting: Handler | null = null;

  constructor(dispatcher: Dispatcher) {
    this.#dispatcher = dispatcher;
    subscribe(SENDING, this.#onSending);
  }

  /** @param origin - `https://host:port` of the upstream */
  send(origin: string, { method, path, headers, body }: Outgoing, passOn: PassOn): void {
    const handler = new Handler(passOn, (starting) => {
      this.#starting = starting;
    });
    try {
      this.#dispatcher.dispatch({ origin, method: method as Dispatcher.HttpMethod, path, headers, body }, handler);
    } catch (cause) {
      passOn.fail(cause);
    }
  }

  async close(): Promise<void> {
    unsubscribe(SENDING, this.#onSending);
    await this.#dispatcher.destroy();
  }

  #onSending = (message: unknown): void => {
    const handler = this.#starting;
    if (handler === null) return; // another's
    this.#starting = null;
    const { socket } = message as { readonly socket: object };
    handler.passOn.reused = this.#served.has(socket);
    this.#served.add(socket);
  };
}

class Handler implements Dispatcher.DispatchHandler {
  readonly passOn: PassOn;
  readonly #onStart: (handler: Handler) => void;

  constructor(passOn: PassOn, onStart: (handler: Handler) => void) {
    this.passOn = passOn;
    this.#onStart = onStart;
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#onStart(this);
    this.passOn.start({
      abort: () => controller.abort(new Error('not wanted any more')),
      pause: () => controller.pause(),
      resume: () => controller.resume(),
    });
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    _fields: unknown,
    statusMessage?: string,
  ): void {
    this.passOn.head(status, controller.rawHeaders, statusMessage ?? '');
  }

  onResponseData(_controller: unknown, chunk: Buffer): void {
    this.passOn.data(chunk);
  }

  onResponseEnd(controller: Dispatcher.DispatchController): void {
    this.passOn.end(controller.rawTrailers);
  }

  onResponseError(_controller: unknown, cause: Error): void {
    this.passOn.fail(cause);
  }
}
