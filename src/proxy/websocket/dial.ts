import type { IncomingMessage } from 'node:http';
import { HttpsProxyAgent } from 'https-proxy-agent';
import WebSocket from 'ws';
import { groupBy } from '../../engine/group-by.ts';
import type { Destination } from '../upstream/destinations.ts';
import { pairsOf, requestHeaders } from '../upstream/headers.ts';
import type { Hops } from '../upstream/hops.ts';
import { MAX_HEADER_BYTES } from '../upstream/upstream.ts';
import { upstreamErrorCode } from '../upstream/upstream-error.ts';

/** Largest message, put together from its fragments and unpacked: a connection holds one of each direction. */
export const MAX_MESSAGE_BYTES = 256 * 1024 * 1024;
/** Most fragments of one message; each costs some room beside its bytes. */
export const MAX_FRAGMENTS = 1_000_000;

/** What became of the wish for a WebSocket at the upstream. */
export type Dialled =
  /** Open, and paused until it is resumed; `answer` has the fields that came with it. */
  | { readonly kind: 'open'; readonly upstream: WebSocket; readonly answer: IncomingMessage }
  /** It answered otherwise, with a body that is still to be read. */
  | { readonly kind: 'answered'; readonly answer: IncomingMessage }
  | { readonly kind: 'failed'; readonly code: string };

/** The client's fields that belong to its own handshake, which is another than ours with the upstream. */
const HANDSHAKE = [
  'sec-websocket-key',
  'sec-websocket-version',
  'sec-websocket-extensions',
  'sec-websocket-protocol',
  'via',
];

export interface DialOptions {
  readonly hops: Hops;
  /** How long the upstream may take until its answer begins, in milliseconds; 0 for ever. */
  readonly headersTimeoutMs: number;
}

/** Asks the upstream for the WebSocket that a client asks for. Never rejects. */
export function dial(
  req: IncomingMessage,
  { upstream, path }: Pick<Destination, 'upstream' | 'path'>,
  { hops, headersTimeoutMs }: DialOptions,
): Promise<Dialled> {
  return new Promise((resolve) => {
    const extensions = req.headers['sec-websocket-extensions'] ?? '';
    const url = upstream.origin.replace(/^http/, 'ws') + path;
    const { proxy } = upstream;
    let answer: IncomingMessage | null = null;
    let socket: WebSocket;
    try {
      socket = new WebSocket(url, protocolsOf(req), {
        headers: { ...fieldsOf(req), via: hops.next(req.headers) },
        // what the client would do by itself: it pays where there is a network between
        perMessageDeflate: extensions.includes('permessage-deflate'),
        autoPong: false,
        maxPayload: MAX_MESSAGE_BYTES,
        maxFragments: MAX_FRAGMENTS,
        maxHeaderSize: MAX_HEADER_BYTES,
        ...(headersTimeoutMs > 0 && { handshakeTimeout: headersTimeoutMs }),
        // a proxy lays a tunnel to any address: what goes on in it is no HTTP
        ...(proxy !== null && { agent: new HttpsProxyAgent(proxy) }),
      });
    } catch (cause) {
      resolve({ kind: 'failed', code: upstreamErrorCode(cause) });
      return;
    }
    const stopWaiting = (): void => socket.terminate();
    req.socket.once('close', stopWaiting);
    const done = (dialled: Dialled): void => {
      req.socket.off('close', stopWaiting);
      resolve(dialled);
    };
    socket.once('upgrade', (head) => {
      answer = head;
    });
    socket.once('open', () => {
      socket.pause(); // nothing may come before there is somebody to listen
      if (answer) done({ kind: 'open', upstream: socket, answer });
    });
    socket.once('unexpected-response', (_request, head) => done({ kind: 'answered', answer: head }));
    socket.on('error', (cause) => {
      const late = cause.message === 'Opening handshake has timed out';
      done({ kind: 'failed', code: late ? 'timeout' : upstreamErrorCode(cause) });
    });
  });
}

/** The client's end-to-end fields; several of one name as a list. */
function fieldsOf(req: IncomingMessage): Record<string, string | string[]> {
  const fields = groupBy(pairsOf(requestHeaders(req.rawHeaders, HANDSHAKE)), ([name]) => name.toLowerCase());
  return Object.fromEntries(
    [...fields.values()].map((same): [string, string | string[]] => {
      const [[name, only] = ['', '']] = same;
      return [name, same.length === 1 ? only : same.map(([, value]) => value)];
    }),
  );
}

function protocolsOf({ headers }: IncomingMessage): string[] {
  const named = (headers['sec-websocket-protocol'] ?? '').split(',').map((name) => name.trim());
  return named.filter((name) => name !== '');
}
