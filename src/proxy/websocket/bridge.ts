import type WebSocket from 'ws';
import type { RawData } from 'ws';
import type { Turns } from '../../core/decide/turns.ts';
import type { SecretMask } from '../doors/lent-keys.ts';

/** Observes messages and may change them. */
export interface BridgeWatch {
  /** Returns the message to forward, usually the same bytes, or `null` to drop it. Never rejects. */
  fromClient(data: Buffer, isBinary: boolean): Buffer | null | Promise<Buffer | null>;
  /** Whether to forward an upstream message to the client. Never throws. */
  fromUpstream(data: Buffer, isBinary: boolean): boolean;
  /** Called once when the connection has ended. `clientFirst`: the client closed it. */
  closed(clientFirst: boolean): void;
}

/** Above this number of buffered bytes for a slow reader, reading from the other side pauses. */
const MAX_WAITING_BYTES = 1024 * 1024;

const NO_STATUS = 1005;
const ABNORMAL = 1006;

/**
 * Connects two WebSockets: forwards messages, pings, pongs and close frames in both directions, in order and with
 * back-pressure.
 */
export class Bridge {
  readonly #client: Side;
  readonly #upstream: Side;
  readonly #watch: BridgeWatch;
  readonly #turns: Turns;
  /** Serialises the client's messages. */
  #inOrder: Promise<void> = Promise.resolve();
  #ended = false;

  /**
   * @param upstream - paused; the bridge resumes it
   * @param turns - shared by all connections, because a client may send thousands of messages at once
   * @param mask - hides the proxy's key in messages from the upstream
   */
  constructor(client: WebSocket, upstream: WebSocket, watch: BridgeWatch, turns: Turns, mask?: SecretMask) {
    this.#client = new Side(client);
    this.#upstream = new Side(upstream);
    this.#watch = watch;
    this.#turns = turns;
    this.#join(this.#client, this.#upstream, (data, isBinary) => this.#fromClient(data, isBinary));
    const hidden = (data: Buffer): Buffer => mask?.inBytes(data) ?? data;
    const onMessage = (data: Buffer, isBinary: boolean): void => {
      if (watch.fromUpstream(data, isBinary)) pass(hidden(data), isBinary, this.#upstream, this.#client);
    };
    this.#join(this.#upstream, this.#client, onMessage, hidden);
    upstream.resume();
  }

  /** Sends one of the proxy's own messages to the upstream. */
  sendUp(text: Buffer): void {
    this.#upstream.send(text, false, () => {});
  }

  /** Sends one of the proxy's own messages to the client. */
  sendDown(text: Buffer): void {
    this.#client.send(text, false, () => {});
  }

  /** Closes both sides with a close code. */
  close(code: number, reason: string): void {
    this.#client.close(code, Buffer.from(reason));
    this.#upstream.close(code, Buffer.from(reason));
  }

  /** @param hidden - masks ping and pong data, and the close reason */
  #join(
    from: Side,
    to: Side,
    onMessage: (data: Buffer, isBinary: boolean) => void,
    hidden = (data: Buffer): Buffer => data,
  ): void {
    const { socket } = from;
    socket.on('message', (data, isBinary) => onMessage(bytesOf(data), isBinary));
    socket.on('ping', (data) => to.socket.ping(hidden(data)));
    socket.on('pong', (data) => to.socket.pong(hidden(data)));
    // 'close' follows; after a broken upstream frame, ws would first wait for the closing handshake
    socket.on('error', () => from === this.#upstream && socket.terminate());
    socket.on('close', (code, reason) => {
      const clientFirst = from === this.#client;
      void (clientFirst ? this.#inOrder : Promise.resolve()).then(() => to.close(code, hidden(reason)));
      if (this.#ended) return;
      this.#ended = true;
      this.#watch.closed(clientFirst);
    });
  }

  #fromClient(data: Buffer, isBinary: boolean): void {
    this.#client.hold(); // later messages stay in the client's socket buffers
    const passOn = (out: Buffer | null): void => {
      if (out !== null) pass(out, isBinary, this.#client, this.#upstream);
    };
    const look = (): void | Promise<void> => {
      const out = this.#watch.fromClient(data, isBinary);
      return out instanceof Promise ? out.then(passOn) : passOn(out);
    };
    this.#inOrder = this.#inOrder.then(() => this.#turns.run(look)).finally(() => this.#client.release());
  }
}

/** Forwards a message, and pauses the sender while too much is buffered. */
function pass(data: Buffer, isBinary: boolean, from: Side, to: Side): void {
  const isSlow = to.socket.bufferedAmount + data.length > MAX_WAITING_BYTES;
  if (isSlow) from.hold();
  to.send(data, isBinary, () => {
    if (isSlow) from.release();
  });
}

/** One of the two WebSockets, with a count of the reasons for pausing it. */
class Side {
  readonly socket: WebSocket;
  #holds = 0;

  constructor(socket: WebSocket) {
    this.socket = socket;
  }

  hold(): void {
    this.#holds++;
    if (this.#holds === 1) this.socket.pause();
  }

  release(): void {
    this.#holds--;
    if (this.#holds === 0) this.socket.resume();
  }

  /** @param onSent - called when the message was sent or has failed */
  send(data: Buffer, binary: boolean, onSent: () => void): void {
    this.socket.send(data, { binary }, onSent);
  }

  /** Closes the socket in the way the other side closed: with the same code and reason, without any, or abruptly. */
  close(code: number, reason: Buffer): void {
    const { socket } = this;
    if (code === ABNORMAL) {
      socket.terminate();
      return;
    }
    socket.resume(); // otherwise the peer's close frame would never be read
    if (code === NO_STATUS) socket.close();
    else socket.close(code, reason);
  }
}

function bytesOf(data: RawData): Buffer {
  if (Buffer.isBuffer(data)) return data;
  return Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data);
}
