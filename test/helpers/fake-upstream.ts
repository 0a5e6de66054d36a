import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';
import { afterwards } from './afterwards.ts';

/** A request as it arrived at the upstream. */
export interface SeenRequest {
  readonly method: string;
  /** Path and query. */
  readonly url: string;
  readonly headers: IncomingMessage['headers'];
  readonly rawHeaders: readonly string[];
  /** Whole, as sent. */
  readonly body: Buffer;
  /** Aborted once the connection of the request has gone before its answer was complete. */
  readonly gone: AbortSignal;
}

/** Answers one request; `index` counts the requests from 0. */
export type Answer = (request: SeenRequest, res: ServerResponse, index: number) => unknown;

/** A model's provider on loopback that does what the test says. */
export class FakeUpstream {
  readonly #server: Server;
  /** Every request whose body arrived, in order. */
  readonly requests: SeenRequest[] = [];
  readonly sockets = new Set<Socket>();
  connections = 0;
  answer: Answer;

  constructor(answer: Answer) {
    this.answer = answer;
    this.#server = createServer((req, res) => void this.#serve(req, res));
    this.#server.on('connection', (socket) => {
      this.connections++;
      this.sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => this.sockets.delete(socket));
    });
  }

  async #serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const gone = new AbortController();
    res.on('error', () => {});
    res.on('close', () => {
      if (!res.writableFinished) gone.abort();
    });
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of req) chunks.push(chunk as Buffer);
    } catch {
      return; // a half-sent body is no request
    }
    const seen: SeenRequest = {
      method: req.method ?? '',
      url: req.url ?? '',
      headers: req.headers,
      rawHeaders: req.rawHeaders,
      body: Buffer.concat(chunks),
      gone: gone.signal,
    };
    this.requests.push(seen);
    await this.answer(seen, res, this.requests.length - 1);
  }

  /** Speaks WebSocket too. */
  acceptSockets(onMessage: (socket: WebSocket, message: Buffer) => void): void {
    const sockets = new WebSocketServer({ server: this.#server });
    sockets.on('connection', (socket) => {
      socket.on('error', () => {}).on('message', (message: Buffer) => onMessage(socket, message));
    });
  }

  async listen(port = 0): Promise<void> {
    this.#server.listen(port, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** What to put where an upstream is configured. */
  get url(): string {
    return `http://127.0.0.1:${this.port}/v1`;
  }

  /** The last request. */
  get last(): SeenRequest {
    const last = this.requests.at(-1);
    if (!last) throw new Error('no request has arrived');
    return last;
  }

  /** Resets every connection. */
  reset(): void {
    for (const socket of this.sockets) socket.resetAndDestroy();
  }

  async close(): Promise<void> {
    if (!this.#server.listening) return;
    const closed = once(this.#server, 'close');
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }
}

/** Starts an upstream that ends with the test. */
export async function startUpstream(answer: Answer = completion()): Promise<FakeUpstream> {
  const upstream = new FakeUpstream(answer);
  await upstream.listen();
  afterwards(() => upstream.close());
  return upstream;
}

function readJson(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return {};
  }
}

const USAGE = {
  prompt_tokens: 1200,
  completion_tokens: 7,
  total_tokens: 1207,
  prompt_tokens_details: { cached_tokens: 1024 },
};

/** Answers as a model does: plain, or as events when the request says `stream`. */
export function completion(text = 'Done.'): Answer {
  return (request, res) => {
    const { stream, model } = readJson(request.body) as { stream?: boolean; model?: string };
    if (stream) sendEvents(res, model ?? '', text);
    else json(res, 200, plainCompletion(model ?? '', text));
  };
}

export function plainCompletion(model: string, text: string): object {
  const message = { role: 'assistant', content: text, refusal: null };
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1_700_000_000,
    model,
    choices: [{ index: 0, message, logprobs: null, finish_reason: 'stop' }],
    usage: USAGE,
  };
}

/** One event of a streamed answer. */
export function event(content: string, model = 'm'): string {
  const choices = [{ index: 0, delta: { content }, finish_reason: null }];
  return `data: ${JSON.stringify({ id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1_700_000_000, model, choices })}\n\n`;
}

/** The last events: the end of the choice, the usage, the end of the stream. */
export function lastEvents(model = 'm'): string {
  const head = { id: 'chatcmpl-1', object: 'chat.completion.chunk', created: 1_700_000_000, model };
  const finish = { ...head, choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] };
  return `data: ${JSON.stringify(finish)}\n\ndata: ${JSON.stringify({ ...head, choices: [], usage: USAGE })}\n\ndata: [DONE]\n\n`;
}

function sendEvents(res: ServerResponse, model: string, text: string): void {
  res.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const word of text.split(/(?<= )/)) res.write(event(word, model));
  res.end(lastEvents(model));
}

/** Sends a JSON answer. */
export function json(res: ServerResponse, status: number, value: unknown, headers: Record<string, string> = {}): void {
  const body = Buffer.from(JSON.stringify(value));
  res.writeHead(status, { 'content-type': 'application/json', 'content-length': body.length, ...headers });
  res.end(body);
}

/** An error as OpenAI words it. */
export function refusal(status: number, code: string, headers: Record<string, string> = {}): Answer {
  return (_request, res) =>
    json(res, status, { error: { message: `upstream says ${code}`, type: 'upstream', param: null, code } }, headers);
}
