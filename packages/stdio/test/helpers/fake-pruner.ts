import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Asked {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  /** As it came over the wire. */
  readonly body: string;
}

/** What the service does with one request. */
export type Reaction = (res: ServerResponse, asked: Asked) => void;

/** A swe-pruner service on a free loopback port, which does what the test says. */
export class FakeSwePruner {
  readonly asked: Asked[] = [];
  #react: Reaction = (res) => res.end('{}');
  readonly #server = createServer(async (req, res) => {
    const chunks: Buffer[] = [];
    for await (const chunk of req) chunks.push(chunk as Buffer);
    const asked = {
      method: req.method ?? '',
      path: req.url ?? '',
      headers: req.headers,
      body: Buffer.concat(chunks).toString('utf8'),
    };
    this.asked.push(asked);
    this.#react(res, asked);
  });

  /** Listens. @returns the address to post to */
  async start(): Promise<string> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/prune`;
  }

  /** Says what happens from now on, and forgets what was asked before. */
  will(react: Reaction): void {
    this.asked.length = 0;
    this.#react = react;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }
}

/** Answers with JSON. */
export function json(value: unknown, status = 200): Reaction {
  return (res) => res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}

/** Answers with bytes as they are. */
export function bytes(body: string, status = 200): Reaction {
  return (res) => res.writeHead(status).end(body);
}
