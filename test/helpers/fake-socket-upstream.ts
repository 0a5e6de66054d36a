import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';
import { afterwards } from './afterwards.ts';

/** A connection as the upstream has it. */
export interface SocketAtUpstream {
  readonly socket: WebSocket;
  readonly request: IncomingMessage;
  /** Every text and binary message that arrived, in order. */
  readonly messages: Buffer[];
  /** Close code and reason, once it has ended. */
  readonly closed: Promise<readonly [number, string]>;
}

/** A model's provider on loopback that speaks WebSocket. */
export class FakeSocketUpstream {
  readonly connections: SocketAtUpstream[] = [];
  /** Answers a message. */
  onMessage: (socket: WebSocket, message: Buffer, isBinary: boolean) => void = () => {};
  port = 0;

  get url(): string {
    return `http://127.0.0.1:${this.port}/v1`;
  }

  get last(): SocketAtUpstream {
    const last = this.connections.at(-1);
    if (!last) throw new Error('nobody has connected');
    return last;
  }

  async start(options: { readonly autoPong?: boolean; readonly perMessageDeflate?: boolean } = {}): Promise<void> {
    const http = createServer((_req, res) => res.writeHead(404).end());
    const server = new WebSocketServer({
      server: http,
      maxPayload: 64 * 1024 * 1024,
      perMessageDeflate: true,
      handleProtocols: (protocols) => [...protocols].at(-1) ?? false,
      ...options,
    });
    server.on('headers', (headers) => headers.push('x-request-id: req_upstream', 'x-models-etag: W/"1"'));
    server.on('connection', (socket, request) => {
      const messages: Buffer[] = [];
      const closed = new Promise<readonly [number, string]>((resolve) => {
        socket.on('close', (code, reason) => resolve([code, reason.toString()]));
      });
      this.connections.push({ socket, request, messages, closed });
      socket.on('error', () => {});
      socket.on('message', (data, isBinary) => {
        const message = Buffer.isBuffer(data) ? data : Buffer.alloc(0);
        messages.push(message);
        this.onMessage(socket, message, isBinary);
      });
    });
    await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
    this.port = (http.address() as AddressInfo).port;
    afterwards(() => {
      for (const { socket } of this.connections) socket.terminate();
      server.close();
      http.close();
      http.closeAllConnections();
    });
  }
}

/** Starts one; it ends with the test. */
export async function startSocketUpstream(
  options: { readonly autoPong?: boolean; readonly perMessageDeflate?: boolean } = {},
): Promise<FakeSocketUpstream> {
  const upstream = new FakeSocketUpstream();
  await upstream.start(options);
  return upstream;
}
