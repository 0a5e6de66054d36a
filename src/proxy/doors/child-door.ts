import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { ChildGate, ChildRequestUsage } from '../../core/ports/child-gate.ts';
import type { FailureReporter } from '../../failures.ts';
import { sendError } from '../openai-error.ts';
import type { BridgeWatch } from '../websocket/bridge.ts';
import { MeteredFrames } from '../websocket/metered-frames.ts';
import { type ChildRefusal, childRefusal } from './child-refusal.ts';
import { ChildUsage } from './child-usage.ts';
import { type Gatekeeper, type IncomingContext, pathOf } from './gatekeeper.ts';

/** Where a child may name itself instead of in the path. */
const HEADER = 'x-mcp-pruner-child';
const PATH = /^\/child\/([0-9a-f]{32})(\/[^?]*)?(\?.*)?$/;
/** What leads to a provider: a child has no other way through the proxy. */
const TO_PROVIDER = /^\/v1(?:beta)?\//;
/** What a child may post without being counted: it asks for the size of a request, and no model. */
const COUNTS_ONLY =
  /^\/v1\/(?:messages\/count_tokens|responses\/input_tokens)$|^\/v1(?:beta)?\/models\/[\w.-]+:countTokens$/;
/** Many requests in one, whose cost comes later and by another way: no limit could hold. */
const BATCH = /batch/i;

/** A child at the door. */
interface Entered {
  readonly childId: string;
  /** Counts one request. @returns why it may not go on, or `null` */
  readonly reserve: () => Promise<ChildRefusal | null>;
  readonly settle: (usage: ChildRequestUsage) => Promise<void>;
}

const children = new WeakMap<IncomingMessage, Entered>();

/** The child that a request came from, or `null`. */
export function childOf(req: IncomingMessage): string | null {
  return children.get(req)?.childId ?? null;
}

/** Looks at the messages of a child's WebSocket as `watch` does, and counts and limits its requests; others pass as they are. */
export function meteredByChild(req: IncomingMessage, watch: BridgeWatch, tell: (frame: Buffer) => void): BridgeWatch {
  const entered = children.get(req);
  return entered ? new MeteredFrames({ ...entered, watch, tell }) : watch;
}

export interface ChildDoorOptions {
  readonly gate: ChildGate;
  /** Answers `/child/<token>/rpc`. */
  readonly rpc: (childId: string) => RequestListener;
  readonly onFailure: FailureReporter;
}

/**
 * Where children come in: `/child/<token>/v1/…` becomes `/v1/…` of that child, whose limits hold from here on. Neither
 * path nor header goes further.
 */
export function childDoor({ gate, rpc, onFailure }: ChildDoorOptions): Gatekeeper {
  return (coming) => {
    const { req, answer, next, kind } = coming;
    if (req.url?.startsWith('/child/') !== true && req.headers[HEADER] === undefined) {
      next();
      return;
    }
    const entering = async (): Promise<void> => {
      const entered = await enter(gate, req);
      if ('type' in entered) refuse(answer(), entered);
      else if (!TO_PROVIDER.test(pathOf(req)) && !isRpc(req)) sendError(answer(), 'not_found');
      else if (kind === 'request') await ordinary(rpc, entered, coming);
      else next(); // the requests in its frames are counted one by one
    };
    entering().catch((cause: unknown) => {
      onFailure('internal_error', cause);
      sendError(answer(), 'internal_error');
    });
  };
}

const RPC = '/rpc';
/** Requests that came in by the path, and not by the field. */
const byPath = new WeakSet<IncomingMessage>();

/** Takes off the request what names a child, and finds that child. */
async function enter(gate: ChildGate, req: IncomingMessage): Promise<Entered | ChildRefusal> {
  const [, inPath, path = '/', query = ''] = PATH.exec(req.url ?? '') ?? [];
  const named = req.headers[HEADER];
  delete req.headers[HEADER];
  const token = inPath ?? (typeof named === 'string' ? named : '');
  const admitted = await gate.admit(token);
  if (typeof admitted === 'string') return childRefusal(admitted);
  if (inPath !== undefined) {
    req.url = path + query;
    byPath.add(req);
  }
  const { childId } = admitted;
  const entered: Entered = {
    childId,
    reserve: async () => {
      const now = await gate.admit(token); // a connection may outlive the child that opened it
      if (typeof now === 'string') return childRefusal(now);
      const limit = await gate.reserve(childId);
      return limit === null ? null : childRefusal('child_limit_exceeded', limit);
    },
    settle: (usage) => gate.settle(childId, usage),
  };
  children.set(req, entered);
  return entered;
}

async function ordinary(
  rpc: ChildDoorOptions['rpc'],
  { childId, reserve, settle }: Entered,
  { req, answer, next }: IncomingContext,
): Promise<void> {
  const path = pathOf(req);
  const res = answer();
  if (isRpc(req)) {
    req.url = (req.url ?? '').replace(RPC, '/');
    return rpc(childId)(req, res);
  }
  if (req.method === 'POST' && asksModel(path)) {
    if (BATCH.test(plainPath(path))) return sendError(res, 'not_found');
    const refusal = await reserve();
    if (refusal !== null) return refuse(res, refusal);
    const usage = new ChildUsage(req, res);
    res.once('close', () => void usage.total().then(settle));
  }
  next();
}

function isRpc(req: IncomingMessage): boolean {
  return byPath.has(req) && pathOf(req) === RPC;
}

/** Whether what is posted to a path asks a model, as far as anybody can say: all that is not known to ask none. */
export function asksModel(path: string): boolean {
  return !COUNTS_ONLY.test(path);
}

/** A path as a forgiving provider reads it. */
function plainPath(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

/** In the shape of OpenAI's errors, and in words that make no client try again. */
function refuse(res: ServerResponse, error: ChildRefusal): void {
  if (res.destroyed) return;
  const body = Buffer.from(JSON.stringify({ error }));
  res.shouldKeepAlive = false; // what was sent of the request is not read
  res
    .writeHead(403, { 'content-type': 'application/json', 'content-length': body.length, 'x-should-retry': 'false' })
    .end(body);
}
