import { once } from 'node:events';
import { createServer, type Server as HttpServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';
import { end, type Server, startServer } from '../soak/stage.ts';

/** A replica by its number; `lives` counts how often it was started. */
export interface Replica {
  readonly number: number;
  readonly lives: number;
  readonly url: string;
  readonly server: Server;
}

/** Replicas of the built program on one database. */
export class Team {
  readonly #env: Readonly<Record<string, string>>;
  readonly #replicas = new Map<number, Replica>();
  readonly #lives = new Map<number, number>();
  kills = 0;
  /** How often something was done without, by its reason. */
  readonly fallbacks = new Map<string, number>();

  /** @param env - the settings of all of them, the database among them */
  constructor(env: Readonly<Record<string, string>>) {
    this.#env = env;
  }

  /** Those that take requests now. */
  get alive(): readonly Replica[] {
    return [...this.#replicas.values()];
  }

  /** @param root - the folder of another build than this one */
  async start(number: number, root?: string): Promise<Replica> {
    const lives = (this.#lives.get(number) ?? 0) + 1;
    this.#lives.set(number, lives);
    const server = await startServer(this.#env, root);
    const replica = { number, lives, url: server.url, server };
    if (server.child.stdout) createInterface({ input: server.child.stdout }).on('line', this.#count);
    this.#replicas.set(number, replica);
    return replica;
  }

  /** Ends one with `kill -9`. From now on nobody is sent to it. */
  async kill(number: number): Promise<void> {
    await this.#end(number, 'SIGKILL');
    this.kills++;
  }

  /** Lets one finish what it is at, as an orderly replacement does. */
  async retire(number: number): Promise<void> {
    await this.#end(number, 'SIGTERM');
  }

  async close(): Promise<void> {
    await Promise.all(this.alive.map(({ server }) => end(server, 'SIGKILL')));
    this.#replicas.clear();
  }

  /** Whether a replica was ended since it was chosen: what it held then is its client's to send again. */
  isGone({ number, lives }: Replica): boolean {
    return this.#replicas.get(number)?.lives !== lives;
  }

  readonly #count = (line: string): void => {
    for (const reason of /"fallbacks":\[([^\]]*)\]/.exec(line)?.[1]?.match(/\w+/g) ?? []) {
      this.fallbacks.set(reason, (this.fallbacks.get(reason) ?? 0) + 1);
    }
  };

  async #end(number: number, signal: NodeJS.Signals): Promise<void> {
    const replica = this.#replicas.get(number);
    if (!replica) return;
    this.#replicas.delete(number);
    await end(replica.server, signal);
  }
}

/** A request as the provider got it. */
export interface Received {
  readonly body: string;
  readonly streamed: boolean;
  readonly isMessages: boolean;
}

/** Something that answers like a provider, on loopback, and tells of each request. */
export interface Provider {
  readonly url: string;
  close(): void;
}

const CHUNKS = 4;

/** @param chunkMs - between the parts of a stream */
export async function startProvider(
  onRequest: (received: Received) => void,
  chunkMs: () => number = () => 1,
): Promise<Provider> {
  const server = createServer((req, res) => {
    res.on('error', () => undefined); // the proxy was killed
    void answer(req, res, onRequest, chunkMs).catch(() => res.destroy());
  });
  server.keepAliveTimeout = 600_000;
  const url = await listen(server);
  return {
    url,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

async function answer(
  req: IncomingMessage,
  res: ServerResponse,
  onRequest: (received: Received) => void,
  chunkMs: () => number,
): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of req) chunks.push(chunk as Buffer);
  const body = Buffer.concat(chunks).toString('utf8');
  const isMessages = req.url?.includes('/messages') === true;
  const streamed = body.includes('"stream":true');
  onRequest({ body, streamed, isMessages });
  if (!streamed) {
    res.setHeader('content-type', 'application/json');
    return void res.end(isMessages ? MESSAGE : '{"choices":[{"message":{"role":"assistant","content":"Noted."}}]}');
  }
  res.setHeader('content-type', 'text/event-stream');
  for (let n = 0; n < CHUNKS; n++) {
    res.write(`data: {"choices":[{"index":0,"delta":{"content":"part ${n}"}}]}\n\n`);
    await new Promise((resolve) => setTimeout(resolve, chunkMs()));
  }
  res.end('data: [DONE]\n\n');
}

const MESSAGE =
  '{"type":"message","role":"assistant","content":[{"type":"text","text":"Noted."}],"usage":{"input_tokens":1,"output_tokens":1}}';

/** @returns the URL of a server on a free port */
export async function listen(server: HttpServer): Promise<string> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
