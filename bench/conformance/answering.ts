import type { IncomingHttpHeaders, ServerResponse } from 'node:http';
import type { WebSocket } from 'ws';
import type { Correspondent } from './correspondent.ts';
import type { Summary } from './summaries.ts';
import type { Json } from './types.ts';

/** A stored answer with everything before it. */
export interface Stored {
  readonly items: readonly Json[];
  readonly head: unknown;
  /** The only connection that may continue it; `null`: any. */
  readonly socket: WebSocket | null;
}

/** What a provider needs in order to answer a request. */
export interface Exchange {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Json;
  readonly agent: Correspondent;
  /** Answers by their ids. */
  readonly stored: Map<string, Stored>;
  /** What summaries stand for, by their signatures. */
  readonly summaries: Map<string, Summary>;
}

/** What a provider answers. `events`: as a stream of server-sent events. */
export type Reply =
  | { readonly status: number; readonly json: Json }
  | { readonly events: readonly { readonly name?: string; readonly data: unknown }[] };

export function send(res: ServerResponse, reply: Reply): void {
  if ('json' in reply) {
    res.writeHead(reply.status, { 'content-type': 'application/json' }).end(JSON.stringify(reply.json));
    return;
  }
  res.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const { name, data } of reply.events) {
    const text = typeof data === 'string' ? data : JSON.stringify(data);
    res.write(`${name === undefined ? '' : `event: ${name}\n`}data: ${text}\n\n`);
  }
  res.end();
}

/** Events that are named as their `type` says. */
export function named(events: readonly Json[]): Reply {
  return { events: events.map((data) => ({ name: String(data.type), data })) };
}

/** The text of a result that is a string, or a list with one text. */
export function textOf(content: unknown): string | null {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content) || content.length !== 1) return null;
  const { text } = content[0] as Json;
  return typeof text === 'string' ? text : null;
}
