import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import type { FailureReporter } from 'mcp-pruner/base/failures.ts';
import type { ExchangeUsage } from 'mcp-pruner/core/ports/exchange-usage.ts';
import { decodedPath } from 'mcp-pruner/proxy/doors/asked-model.ts';
import { asksModel, watchOf } from 'mcp-pruner/proxy/doors/exchange-usage.ts';
import { type Gatekeeper, type IncomingContext, ownAdmissions, pathOf } from 'mcp-pruner/proxy/doors/gatekeeper.ts';
import { sendError } from 'mcp-pruner/proxy/send-error.ts';
import type { RequestGate } from '../../children/request-gate.ts';
import { type ChildRefusal, childRefusal } from './child-refusal.ts';
import { MeteredFrames } from './metered-frames.ts';

/** Header by which a child may identify itself instead of the path. */
const HEADER = 'x-mcp-pruner-child';
const PATH = /^\/child\/([0-9a-f]{32})(\/[^?]*)?(\?.*)?$/;
/** Provider paths, which, with `/rpc`, are the only paths that a child may use. */
const TO_PROVIDER = /^\/v1(?:beta)?\//;
/** Batch endpoints are refused: they contain many requests that are billed later, so limits could not be enforced. */
const BATCH = /batch/i;

interface AdmittedChild {
  readonly childId: string;
  /** Counts one request. @returns the reason for a refusal, or `null` */
  readonly reserve: () => Promise<ChildRefusal | null>;
  readonly settle: (usage: ExchangeUsage) => Promise<void>;
}

interface ChildDoorOptions {
  readonly gate: RequestGate;
  /** Handles `/child/<token>/rpc`. */
  readonly rpc: (childId: string) => RequestListener;
  readonly onFailure: FailureReporter;
}

/**
 * Admits children: `/child/<token>/v1/…` becomes `/v1/…` with that child's limits. Token and header are not forwarded.
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
      else next(); // requests in its frames are counted individually
    };
    entering().catch((cause: unknown) => {
      onFailure('internal_error', cause);
      sendError(answer(), 'internal_error');
    });
  };
}

const RPC = '/rpc';
/** Requests identified by path instead of header. */
const byPath = new WeakSet<IncomingMessage>();

/** Removes the child's token from the request, and finds the child. */
async function enter(gate: RequestGate, req: IncomingMessage): Promise<AdmittedChild | ChildRefusal> {
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
  const entered: AdmittedChild = {
    childId,
    reserve: async () => {
      const now = await gate.admit(token); // the connection may outlive the child that opened it
      if (typeof now === 'string') return childRefusal(now);
      const limit = await gate.reserve(childId);
      return limit === null ? null : childRefusal('child_limit_exceeded', limit);
    },
    settle: (usage) => gate.settle(childId, usage),
  };
  ownAdmissions.set(req, {
    childId,
    watch: (watch, send) => new MeteredFrames({ ...entered, watch, send }),
  });
  return entered;
}

async function ordinary(
  rpc: ChildDoorOptions['rpc'],
  { childId, reserve, settle }: AdmittedChild,
  { req, answer, next }: IncomingContext,
): Promise<void> {
  const path = pathOf(req);
  const res = answer();
  if (isRpc(req)) {
    req.url = (req.url ?? '').replace(RPC, '/');
    return rpc(childId)(req, res);
  }
  if (req.method === 'POST' && asksModel(path)) {
    if (BATCH.test(decodedPath(path))) return sendError(res, 'not_found');
    const refusal = await reserve();
    if (refusal !== null) return refuse(res, refusal);
    const usage = watchOf(req, res);
    res.once('close', () => void usage.total().then(settle));
  }
  next();
}

function isRpc(req: IncomingMessage): boolean {
  return byPath.has(req) && pathOf(req) === RPC;
}

/** Refuses in OpenAI's error format, with a status that clients do not retry. */
function refuse(res: ServerResponse, error: ChildRefusal): void {
  if (res.destroyed) return;
  const body = Buffer.from(JSON.stringify({ error }));
  res.shouldKeepAlive = false; // the rest of the request is not read
  res
    .writeHead(403, { 'content-type': 'application/json', 'content-length': body.length, 'x-should-retry': 'false' })
    .end(body);
}
