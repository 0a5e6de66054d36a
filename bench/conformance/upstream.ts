import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';
import { decompress } from 'fzstd';
import { type WebSocket, WebSocketServer } from 'ws';
import { type Exchange, type Reply, type Stored, send } from './answering.ts';
import { answerMessages, countMessages } from './anthropic.ts';
import { digest, plain } from './chain.ts';
import { Correspondent } from './correspondent.ts';
import { answerGemini, answerInteractions } from './google.ts';
import { answerChat, answerFrame, answerResponses, compactResponses } from './openai.ts';
import { asksForSummary, hasSummary, replacedBy, type Summary } from './summaries.ts';
import type { Json, Script, Wire } from './types.ts';

/** What answers a path, by its end. */
const ANSWERS: readonly (readonly [end: string, wire: Wire, answer: (exchange: Exchange) => Reply])[] = [
  ['/messages/count_tokens', 'messages', countMessages],
  ['/messages', 'messages', answerMessages],
  ['/responses/compact', 'responses', compactResponses],
  ['/responses', 'responses', answerResponses],
  ['/chat/completions', 'chat', answerChat],
  ['enerateContent', 'gemini', answerGemini],
  ['/interactions', 'interactions', answerInteractions],
];
const REFUSED = 400;
const REFUSED_FRAME = { type: 'error', status: REFUSED, error: { type: 'invalid_request_error' } };
/** Numbers the requests of a client; a proxy that sends one again sends the header again. */
const FROM_HEADER = 'x-clients-hop';
const MAX_FRAME_BYTES = 256 * 1024 * 1024;

/** What the model says to clients that are not the kit's. @param body - with the whole history */
export type Play = (wire: Wire, body: Json) => Pick<Script, 'calls' | 'says'>;

/** What happens while a request for a summary, or with one, is under way. */
export interface AtSummary {
  /** The answer was sent before; otherwise the provider never saw the request. */
  readonly isAnswered: boolean;
  happen(): Promise<void>;
}

/** Providers that check what the real ones check. They keep histories: threads, and answers on POST and WebSocket. */
export class CheckingUpstream {
  readonly #server: Server;
  readonly #agents = new Map<string, Correspondent>();
  readonly #stored = new Map<string, Stored>();
  readonly #summaries = new Map<string, Summary>();
  readonly #play: Play | null;
  readonly #tokensOf: Correspondent['tokensOf'] | null;
  /** The conversations of other clients, by their first entries. */
  readonly strangers = new Map<string, Correspondent>();
  /** How often each request of a client arrived, without requests for summaries. */
  readonly arrivals = new Map<string, number>();
  port = 0;
  /** Happens once. */
  atSummary: AtSummary | null = null;

  /**
   * @param play - absent: only agents of the kit are answered
   * @param tokensOf - tokens reported to other clients, of which summaries are made
   */
  constructor(play: Play | null = null, tokensOf: Correspondent['tokensOf'] | null = null) {
    this.#play = play;
    this.#tokensOf = tokensOf;
    this.#server = createServer((req, res) => {
      this.#serve(req, res).catch((cause: unknown) => res.destroy(cause instanceof Error ? cause : undefined));
    });
    const sockets = new WebSocketServer({ noServer: true, maxPayload: MAX_FRAME_BYTES });
    this.#server.on('upgrade', (req, socket, head) => {
      sockets.handleUpgrade(req, socket, head, (client) => this.#connect(client));
    });
  }

  get origin(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** @param port - 0: any free one */
  async start(port = 0): Promise<void> {
    this.#server.listen(port, '127.0.0.1');
    await once(this.#server, 'listening');
    this.port = (this.#server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  add(agent: Correspondent): void {
    this.#agents.set(agent.id, agent);
  }

  async #serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of req) chunks.push(chunk as Buffer);
    const bytes = decoded(Buffer.concat(chunks), req.headers['content-encoding']);
    const path = (req.url ?? '').split('?')[0] ?? '';
    const body = (bytes.length > 0 ? JSON.parse(bytes.toString('utf8')) : {}) as Json;
    const [, wire, answer] = ANSWERS.find(([end]) => path.endsWith(end)) ?? [];
    const agent = wire && this.#agentOf(wire, body);
    if (!agent || !answer) return send(res, failure(404, agent ? path : 'unknown agent'));
    const at = asksForSummary(body) || hasSummary(body) || answer === compactResponses ? this.#happening() : null;
    if (at?.isAnswered === false) {
      await at.happen();
      return void res.destroy();
    }
    agent.requests++;
    agent.from = String(req.headers[FROM_HEADER] ?? '');
    const isTurn = answer !== countMessages && answer !== compactResponses && !asksForSummary(body);
    if (isTurn && agent.from !== '') this.arrivals.set(agent.from, (this.arrivals.get(agent.from) ?? 0) + 1);
    const status = isTurn ? agent.script.fails.shift() : undefined;
    if (status !== undefined) return send(res, failure(status, `failure ${status}`));
    if (isTurn && agent.refusesSummary(body)) return send(res, failure(REFUSED, 'compaction_signature_invalid'));
    if (isTurn && agent.script.hangs) {
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      res.write(': waiting\n\n');
      await once(res, 'close');
      return;
    }
    send(res, answer({ path, headers: req.headers, body, agent, ...this.#known }));
    await at?.happen();
  }

  #happening(): AtSummary | null {
    const at = this.atSummary;
    this.atSummary = null;
    return at;
  }

  #connect(socket: WebSocket): void {
    socket.on('error', () => socket.terminate());
    socket.on('message', async (data: Buffer) => {
      const body = JSON.parse(data.toString('utf8')) as Json;
      const agent = this.#agentOf('responses', body);
      if (!agent) return socket.close(1008, 'unknown agent');
      const at = hasSummary(body) ? this.#happening() : null;
      if (at?.isAnswered === false) {
        await at.happen();
        return socket.terminate();
      }
      agent.requests++;
      agent.from = '';
      const status = agent.script.fails.shift();
      if (status !== undefined) return socket.close(1011, `failure ${status}`);
      if (agent.refusesSummary(body)) return socket.send(JSON.stringify(REFUSED_FRAME));
      if (agent.script.hangs) return;
      const events = answerFrame({ path: '', headers: {}, body, agent, ...this.#known }, socket);
      for (const event of events) socket.send(JSON.stringify(event));
      await at?.happen();
    });
  }

  get #known(): Pick<Exchange, 'stored' | 'summaries'> {
    return { stored: this.#stored, summaries: this.#summaries };
  }

  /** The agent that a request names; for one that names none, its conversation. */
  #agentOf(wire: Wire, body: Json): Correspondent | undefined {
    const play = this.#play;
    if (play === null) return this.#agents.get(nameIn(body));
    const { items = [] } = this.#stored.get(String(body.previous_response_id)) ?? {};
    const own = body.messages ?? body.input;
    const sent = [...items, ...(Array.isArray(own) ? (own as Json[]) : [own])] as Json[];
    const [first] = replacedBy(sent[0], this.#summaries) ?? sent;
    const key = digest(wire, JSON.stringify(plain(first ?? null)));
    let stranger = this.strangers.get(key);
    if (!stranger) {
      stranger = new Correspondent(`c${this.strangers.size}`, wire, wire === 'messages' || wire === 'responses');
      stranger.says = (whole) => play(wire, whole);
      stranger.hasSummaries = this.#tokensOf !== null;
      if (this.#tokensOf !== null) stranger.tokensOf = this.#tokensOf;
      this.strangers.set(key, stranger);
    }
    return stranger;
  }
}

function decoded(bytes: Buffer, encoding: string | undefined): Buffer {
  if (encoding === 'gzip') return gunzipSync(bytes);
  return encoding === 'zstd' ? Buffer.from(decompress(bytes)) : bytes;
}

function failure(status: number, message: string): Reply {
  return { status, json: { type: 'error', error: { type: 'api_error', message } } };
}

/** Agents name themselves in the field for users, or for labels. */
function nameIn({ metadata, prompt_cache_key, user, labels }: Json): string {
  const { user_id } = (metadata ?? {}) as { user_id?: unknown };
  const { agent } = (labels ?? {}) as { agent?: unknown };
  return String(user_id ?? prompt_cache_key ?? user ?? agent ?? '');
}
