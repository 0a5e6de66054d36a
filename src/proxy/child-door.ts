import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { ChildGate } from '../core/ports/child-gate.ts';
import type { TellFailure } from '../failures.ts';
import { ChildUsage } from './child-usage.ts';
import { sendError } from './openai-error.ts';

/** Where a child may name itself instead of in the path. */
const HEADER = 'x-mcp-pruner-child';
const PATH = /^\/child\/([0-9a-f]{32})(\/[^?]*)?(\?.*)?$/;
const MODEL_REQUEST = /\/(?:chat\/completions|responses(?:\/compact)?|messages|[^/]*:(?:stream)?generatecontent)$/;

const children = new WeakMap<IncomingMessage, string>();

/** The child that a request came from, or `null`. */
export function childOf(req: IncomingMessage): string | null {
  return children.get(req) ?? null;
}

/** Whether a request names the child that it comes from by a field. */
export function namesChild({ headers }: IncomingMessage): boolean {
  return headers[HEADER] !== undefined;
}

export interface ChildDoorOptions {
  readonly gate: ChildGate;
  /** Answers `/child/<token>/rpc`. */
  readonly rpc: (childId: string) => RequestListener;
  readonly onFailure: TellFailure;
}

/** Whoever may answer before the routes do: calls `next` for what is an ordinary request from then on. */
export type Front = (req: IncomingMessage, res: ServerResponse, next: () => void) => void;

/**
 * Where children come in: `/child/<token>/v1/…` becomes `/v1/…` of that child, whose limits hold from here on. Neither
 * path nor header goes further.
 */
export function childDoor(options: ChildDoorOptions): Front {
  return (req, res, next) => {
    const named = req.headers[HEADER];
    const isOurs = req.url?.startsWith('/child/') === true;
    if (!isOurs && named === undefined) return next();
    enter(options, req, res, next).catch((cause: unknown) => {
      options.onFailure('internal_error', cause);
      sendError(res, 'internal_error');
    });
  };
}

async function enter(
  { gate, rpc }: ChildDoorOptions,
  req: IncomingMessage,
  res: ServerResponse,
  next: () => void,
): Promise<void> {
  const [, token, path = '/', query = ''] = PATH.exec(req.url ?? '') ?? [];
  const named = req.headers[HEADER];
  const key = token ?? (typeof named === 'string' ? named : '');
  const admitted = await gate.admit(key);
  if (typeof admitted === 'string') return refuse(res, admitted, admitted);
  const { childId } = admitted;
  if (token !== undefined) req.url = path + query;
  children.set(req, childId);
  if (path === '/rpc' && token !== undefined) {
    req.url = `/${query}`;
    return rpc(childId)(req, res);
  }
  const [asked = ''] = (req.url ?? '').split('?');
  if (!asked.startsWith('/v1/')) return sendError(res, 'not_found');
  if (req.method === 'POST' && asksModel(asked)) {
    const limit = await gate.reserve(childId);
    if (limit !== null) return refuse(res, 'child_limit_exceeded', limit);
    const usage = new ChildUsage(req, res);
    res.once('close', () => void usage.total().then((total) => gate.settle(childId, total)));
  }
  next();
}

/** Whether a path is that of a request to a model, however it is spelt: providers forgive much. */
export function asksModel(path: string): boolean {
  try {
    const plain = decodeURIComponent(new URL(`http://child${path}`).pathname);
    return MODEL_REQUEST.test(
      plain
        .toLowerCase()
        .replace(/\/{2,}/g, '/')
        .replace(/\/$/, ''),
    );
  } catch {
    return true; // counted rather than let through
  }
}

type Refusal = 'child_unknown' | 'child_ended' | 'child_limit_exceeded';

const WORDS: Readonly<Record<Refusal, string>> = {
  child_unknown: 'No child of this server has this token.',
  child_ended: 'The child of this token has ended; its address ended with it.',
  child_limit_exceeded: 'This agent has used up a limit that it was started with; it must end now.',
};

/** In the shape of OpenAI's errors, and in words that make no client try again. */
function refuse(res: ServerResponse, type: Refusal, code: string): void {
  if (res.destroyed) return;
  const body = Buffer.from(JSON.stringify({ error: { message: WORDS[type], type, param: null, code } }));
  res.shouldKeepAlive = false; // what was sent of the request is not read
  res
    .writeHead(403, { 'content-type': 'application/json', 'content-length': body.length, 'x-should-retry': 'false' })
    .end(body);
}
