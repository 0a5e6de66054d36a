import { once } from 'node:events';
import http from 'node:http';
import net from 'node:net';
import { afterwards } from './afterwards.ts';

export interface WireAnswer {
  readonly status: number;
  readonly statusMessage: string;
  readonly headers: http.IncomingHttpHeaders;
  readonly rawHeaders: readonly string[];
  readonly trailers: NodeJS.Dict<string>;
  readonly body: Buffer;
}

export interface WireRequest {
  readonly method?: string;
  /** Sent as it is; without it the path of the URL, which is normalized. */
  readonly path?: string;
  readonly headers?: http.OutgoingHttpHeaders | readonly string[];
  readonly body?: Buffer | string;
  readonly agent?: http.Agent;
  /** How large the answer's header fields may be together, in bytes. */
  readonly maxHeaderSize?: number;
}

/** One HTTP exchange with exactly these headers; nothing is decoded. */
export function send(
  url: string,
  { method = 'GET', path, headers = {}, body, agent, maxHeaderSize }: WireRequest = {},
): Promise<WireAnswer> {
  return new Promise((resolve, reject) => {
    const req = http.request(
      url,
      {
        method,
        ...(path !== undefined && { path }),
        headers: headers as http.OutgoingHttpHeaders,
        agent: agent ?? false,
        ...(maxHeaderSize && { maxHeaderSize }),
      },
      (res) => {
        const chunks: Buffer[] = [];
        res.on('data', (chunk: Buffer) => chunks.push(chunk));
        res.on('error', reject);
        res.on('end', () =>
          resolve({
            status: res.statusCode ?? 0,
            statusMessage: res.statusMessage ?? '',
            headers: res.headers,
            rawHeaders: res.rawHeaders,
            trailers: res.trailers,
            body: Buffer.concat(chunks),
          }),
        );
      },
    );
    req.on('error', reject);
    req.end(body);
  });
}

/** A bare connection that is closed with the test. */
export async function dial(port: number): Promise<net.Socket> {
  const socket = net.connect(port, '127.0.0.1');
  socket.on('error', () => {});
  afterwards(() => socket.destroy());
  await once(socket, 'connect');
  return socket;
}

/** Everything that comes on a connection until it closes or `enough` of it is there. */
export async function received(socket: net.Socket, enough: (text: string) => boolean = () => false): Promise<string> {
  let text = '';
  for await (const chunk of socket) {
    text += (chunk as Buffer).toString('latin1');
    if (enough(text)) break;
  }
  return text;
}

/** A server of raw bytes on loopback; `talk` gets each connection once its request head has come. */
export async function startRawServer(talk: (socket: net.Socket, head: string) => unknown): Promise<string> {
  const server = net.createServer((socket) => {
    let head = '';
    socket.on('error', () => {});
    const onData = (chunk: Buffer): void => {
      head += chunk.toString('latin1');
      if (!head.includes('\r\n\r\n')) return;
      socket.off('data', onData).resume(); // a large body is neither kept nor searched
      talk(socket, head);
    };
    socket.on('data', onData);
  });
  const sockets = new Set<net.Socket>();
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  afterwards(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as net.AddressInfo).port}/v1`;
}

/** A port on which nobody listens. */
export async function freePort(): Promise<number> {
  const server = net.createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as net.AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
