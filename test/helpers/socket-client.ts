import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import WebSocket, { type ClientOptions } from 'ws';
import { afterwards } from './afterwards.ts';
import { until } from './until.ts';

/** A client of a WebSocket that keeps what it is told. */
export class SocketClient {
  readonly socket: WebSocket;
  readonly messages: Buffer[] = [];
  /** Close code and reason, once it has ended. */
  readonly closed: Promise<readonly [number, string]>;
  answer: IncomingMessage | null = null;

  constructor(url: string, protocols: string[], options: ClientOptions) {
    this.socket = new WebSocket(url, protocols, options);
    this.socket.on('message', (data) => this.messages.push(Buffer.isBuffer(data) ? data : Buffer.alloc(0)));
    this.socket.on('upgrade', (answer) => {
      this.answer = answer;
    });
    this.socket.on('error', () => {});
    this.closed = new Promise((resolve) => {
      this.socket.on('close', (code, reason) => resolve([code, reason.toString()]));
    });
  }

  /** The first `count` messages, once they are there. */
  received(count: number): Promise<readonly Buffer[]> {
    return until(() => this.messages.length >= count && this.messages);
  }
}

/** Opens one at the proxy's `/v1/responses`; it ends with the test. */
export async function openSocket(
  proxyUrl: string,
  options: ClientOptions = {},
  protocols: string[] = [],
): Promise<SocketClient> {
  const headers = { authorization: 'Bearer sk-test', 'openai-beta': 'responses_websockets=2026-02-06' };
  const client = new SocketClient(`${proxyUrl.replace('http', 'ws')}/v1/responses`, protocols, { headers, ...options });
  afterwards(() => client.socket.terminate());
  await once(client.socket, 'open');
  return client;
}
