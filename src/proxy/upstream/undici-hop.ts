import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Dispatcher } from 'undici';
import type { PassOn, RawRequest } from './pass-on.ts';

/** Diagnostics channel on which undici announces the connection of each request. */
const SENDING = 'undici:client:sendHeaders';

/** Sends requests through an undici dispatcher, and records which of them reused a connection. */
export class UndiciHop {
  readonly #dispatcher: Dispatcher;
  readonly #served = new WeakSet<object>();
  /** The request being started; undici announces its connection synchronously. */
  #starting: PassOn | null = null;

  constructor(dispatcher: Dispatcher) {
    this.#dispatcher = dispatcher;
    subscribe(SENDING, this.#onSending);
  }

  /** @param origin - `https://host:port` of the upstream */
  send(origin: string, { method, path, headers, body }: RawRequest, passOn: PassOn): void {
    const handler: Dispatcher.DispatchHandler = {
      onRequestStart: (controller) => {
        this.#starting = passOn;
        passOn.start({
          abort: () => controller.abort(new Error('the request was aborted')),
          pause: () => controller.pause(),
          resume: () => controller.resume(),
        });
      },
      onResponseStart: (controller, status, _fields, statusMessage) =>
        passOn.head(status, controller.rawHeaders, statusMessage ?? ''),
      onResponseData: (_controller, chunk) => passOn.data(chunk),
      onResponseEnd: (controller) => passOn.end(controller.rawTrailers),
      onResponseError: (_controller, cause) => passOn.fail(cause),
    };
    try {
      this.#dispatcher.dispatch({ origin, method: method as Dispatcher.HttpMethod, path, headers, body }, handler);
    } catch (cause) {
      passOn.fail(cause);
    }
  }

  /** Closes the connections after their in-flight requests. */
  retire(): void {
    unsubscribe(SENDING, this.#onSending);
    void this.#dispatcher.close().catch(() => {}); // it may already be closed
  }

  async close(): Promise<void> {
    unsubscribe(SENDING, this.#onSending);
    await this.#dispatcher.destroy();
  }

  #onSending = (message: unknown): void => {
    const passOn = this.#starting;
    if (passOn === null) return; // the event belongs to another dispatcher
    this.#starting = null;
    const { socket } = message as { readonly socket: object };
    passOn.reused = this.#served.has(socket);
    this.#served.add(socket);
  };
}
