import type { IncomingMessage } from 'node:http';
import { HttpsProxyAgent } from 'https-proxy-agent';
import WebSocket from 'ws';
import { groupBy } from '../../engine/group-by.ts';
import type { Destination } from '../upstream/destinations.ts';
import { type LoopGuard, pairsOf, requestHeaders } from '../upstream/headers.ts';
import { MAX_HEADER_BYTES } from '../upstream/upstream.ts';
import { upstreamErrorCode } from '../upstream/upstream-error.ts';

/** Maximum size of a reassembled and decompressed message; a connection holds one per direction. */
export const MAX_MESSAGE_BYTES = 256 * 1024 * 1024;
/** Maximum number of fragments per message; each takes additional memory. */
export const MAX_FRAGMENTS = 1_000_000;

/** The result of a WebSocket request to the upstream. */
export type Dialled =
  /** Open, but paused; `answer` has the handshake headers. */
  | { readonly kind: 'open'; readonly upstream: WebSocket; readonly answer: IncomingMessage }
  /** The upstream refused with an HTTP answer, whose body is still unread. */
  | { readonly kind: 'answered'; readonly answer: IncomingMessage }
  | { readonly kind: 'failed'; readonly code: string };

/** Client handshake headers that are not forwarded, because the upstream handshake sets its own. */
const HANDSHAKE = [
  'sec-websocket-key',
  'sec-websocket-version',
  'sec-websocket-extensions',
  'sec-websocket-protocol',
  'via',
];

export interface DialOptions {
  readonly hops: LoopGuard;
  /** Maximum time until the upstream's answer begins, in milliseconds; 0 for no limit. */
  readonly headersTimeoutMs: number;
}

/** Opens the upstream WebSocket for a client. Never rejects. */
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
        // only if the client offers it; compression pays off over the internet
        perMessageDeflate: extensions.includes('permessage-deflate'),
        autoPong: false,
        maxPayload: MAX_MESSAGE_BYTES,
        maxFragments: MAX_FRAGMENTS,
        maxHeaderSize: MAX_HEADER_BYTES,
        ...(headersTimeoutMs > 0 && { handshakeTimeout: headersTimeoutMs }),
        // a tunnel, because the traffic is not HTTP
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
      socket.pause(); // messages must not arrive before there is a listener
      if (answer) done({ kind: 'open', upstream: socket, answer });
    });
    socket.once('unexpected-response', (_request, head) => done({ kind: 'answered', answer: head }));
    socket.on('error', (cause) => {
      const late = cause.message === 'Opening handshake has timed out';
      done({ kind: 'failed', code: late ? 'timeout' : upstreamErrorCode(cause) });
    });
  });
}

/** The client's end-to-end headers; repeated names become a list. */
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
