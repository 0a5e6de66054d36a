import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type WebSocket from 'ws';
import { WebSocketServer } from 'ws';
import { Turns } from '../../core/decide/turns.ts';
import { ownAdmissions } from '../doors/gatekeeper.ts';
import { lentKeys, maskAnswer } from '../doors/lent-keys.ts';
import { contextOf } from '../request-context.ts';
import { sendError, sendUpstreamError } from '../send-error.ts';
import type { Destination, Refused } from '../upstream/destinations.ts';
import { pairsOf, responseHeaders } from '../upstream/headers.ts';
import { bareAnswer } from './bare-answer.ts';
import { Bridge } from './bridge.ts';
import { type Dialled, type DialOptions, dial, MAX_FRAGMENTS, MAX_MESSAGE_BYTES } from './dial.ts';
import { type FrameOptions, Frames } from './frames.ts';

interface WebSocketOptions extends FrameOptions, DialOptions {
  /** Destination of an upgrade request; `null` if this wire has no WebSocket. */
  readonly destinationOf: (req: IncomingMessage) => Destination | Refused | null;
  readonly isForeign: (headers: IncomingHttpHeaders) => boolean;
  /** Called when a WebSocket was opened. @returns a callback for when it has closed and its requests were reported */
  readonly onOpened?: (req: IncomingMessage) => () => void;
  /** Called if the upstream did not open a WebSocket: it sent this status, or the request failed. */
  readonly onNotOpened: (status: number, upstreamError: string | null) => void;
}

/** Idle time after which TCP keep-alive probes a connection. */
const KEEP_ALIVE_MS = 60_000;
/** RFC 6455 §7.4.1: an endpoint is going away. */
const GOING_AWAY = 1001;

interface Open {
  readonly bridge: Bridge;
  readonly frames: Frames;
}

/** Bridges the WebSockets of a wire to the upstream. */
export class WebSocketHandler {
  readonly #options: WebSocketOptions;
  readonly #server: WebSocketServer;
  readonly #open = new Set<Open>();
  readonly #turns = new Turns();
  /** Headers of the next `101`; ws writes them synchronously. */
  #fields: readonly string[] = [];
  #protocol = '';
  #draining = false;

  constructor(options: WebSocketOptions) {
    this.#options = options;
    this.#server = new WebSocketServer({
      noServer: true,
      clientTracking: false,
      perMessageDeflate: false, // the client is nearby: compression costs more than it saves
      autoPong: false,
      allowSynchronousEvents: false, // one frame per event-loop turn: thousands of pings may arrive in one chunk
      maxPayload: MAX_MESSAGE_BYTES,
      maxFragments: MAX_FRAGMENTS,
      handleProtocols: () => this.#protocol || false,
    });
    this.#server.on('headers', (headers: string[]) => headers.push(...this.#fields));
  }

  /** Whether an upgrade belongs to this wire: a POST to the same path would use a model. */
  claims(req: IncomingMessage): boolean {
    return this.#options.destinationOf(req) !== null;
  }

  /**
   * Never rejects.
   *
   * @param head - bytes received after the request
   */
  async handle(req: IncomingMessage, socket: Socket, head: Buffer): Promise<void> {
    try {
      await this.#connect(req, socket, head);
    } catch (cause) {
      this.#options.onFailure('internal_error', cause);
      socket.destroy();
    }
  }

  /** Closes connections as soon as no answer is in progress; clients reconnect elsewhere. */
  drain(): void {
    this.#draining = true;
    for (const { bridge, frames } of this.#open) if (!frames.isBusy) bridge.close(GOING_AWAY, 'shutting down');
  }

  async #connect(req: IncomingMessage, socket: Socket, head: Buffer): Promise<void> {
    const { dialect, onNotOpened, destinationOf } = this.#options;
    const to = destinationOf(req);
    if (to === null) return void socket.destroy();
    if ('refusal' in to) return sendError(bareAnswer(req, socket), to.refusal, to.message, undefined, to.errorBody);
    const dialled = await dial(req, to, this.#options);
    if (dialled.kind === 'open') return this.#join(req, socket, head, dialled, to);
    if (socket.destroyed) {
      if (dialled.kind === 'answered') dialled.answer.destroy();
      return;
    }
    const res = bareAnswer(req, socket);
    const mask = lentKeys.get(req);
    if (mask) maskAnswer(res, mask);
    if (dialled.kind === 'failed') {
      onNotOpened(sendUpstreamError(res, dialled.code, dialect.error), dialled.code);
      return;
    }
    const { answer } = dialled;
    const status = answer.statusCode ?? 502;
    onNotOpened(status, null);
    res.sendDate = false;
    res.writeHead(status, answer.statusMessage ?? '', responseHeaders(answer.rawHeaders));
    answer.on('error', () => res.destroy());
    res.once('close', () => answer.destroy());
    answer.pipe(res);
  }

  #join(
    req: IncomingMessage,
    socket: Socket,
    head: Buffer,
    { upstream, answer }: Extract<Dialled, { kind: 'open' }>,
    to: Destination,
  ): void {
    if (socket.destroyed) {
      upstream.terminate();
      return;
    }
    const mask = lentKeys.get(req);
    this.#fields = mask ? fieldsFor(answer).map((line) => mask.inText(line)) : fieldsFor(answer);
    this.#protocol = upstream.protocol;
    let joined = false;
    this.#server.handleUpgrade(req, socket, head, (client) => {
      joined = true;
      socket.setKeepAlive(true, KEEP_ALIVE_MS);
      this.#bridge(req, client, upstream, to, responseHeaders(answer.rawHeaders));
    });
    if (!joined) upstream.terminate(); // an invalid upgrade request
  }

  #bridge(
    req: IncomingMessage,
    client: WebSocket,
    upstream: WebSocket,
    to: Destination,
    fields: readonly string[],
  ): void {
    const foreign = this.#options.isForeign(req.headers);
    const ended = this.#options.onOpened?.(req);
    const context = contextOf(req, '', to);
    const onReport: FrameOptions['onReport'] = (report, bytes) => {
      this.#options.onReport(report, bytes);
      // one more event may be in transit to the client and must be sent before closing
      if (this.#draining) setImmediate(() => this.drain());
    };
    const frames = new Frames(
      { ...this.#options, onReport },
      {
        context,
        fields,
        foreign,
        cloud: to.provider.name,
        origin: to.upstream.origin,
        send: (text) => open.bridge.sendUp(text),
        reply: (text) => open.bridge.sendDown(text),
        onClosed: () => {
          this.#open.delete(open);
          ended?.();
        },
      },
    );
    const watch = ownAdmissions.get(req)?.watch(frames, (frame) => open.bridge.sendDown(frame)) ?? frames;
    const open: Open = { frames, bridge: new Bridge(client, upstream, watch, this.#turns, lentKeys.get(req)) };
    this.#open.add(open);
    if (this.#draining) this.drain();
  }
}

/** The upstream's headers for the client as lines, without handshake headers. */
function fieldsFor({ rawHeaders }: IncomingMessage): string[] {
  return pairsOf(responseHeaders(rawHeaders))
    .filter(([name]) => !/^sec-websocket-/i.test(name))
    .map(([name, value]) => `${name}: ${value}`);
}
