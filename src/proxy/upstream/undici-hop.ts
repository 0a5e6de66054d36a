import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { Dispatcher } from 'undici';
import type { PassOn } from './pass-on.ts';

/** Diagnostics channel on which undici announces the connection of each request. */
const SENDING = 'undici:client:sendHeaders';

/** Sends requests through an undici dispatcher, and records which of them reused a connection. */
export class UndiciHop {
  readonly #dispatcher: Dispatcher;
  readonly #served = new WeakSet<object>();
  /** The request being started; undici announces its connection synchronously. */
  starting: PassOn | null = null;

  constructor(dispatcher: Dispatcher) {
    this.#dispatcher = dispatcher;
    subscribe(SENDING, this.#onSending);
  }

  send(passOn: PassOn): void {
    passOn.hop = this;
    try {
      this.#dispatcher.dispatch(passOn.sent, passOn);
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
    const passOn = this.starting;
    if (passOn === null) return; // the event belongs to another dispatcher
    this.starting = null;
    const { socket } = message as { readonly socket: object };
    passOn.reused = this.#served.has(socket);
    this.#served.add(socket);
  };
}
