import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { BudgetGate, OverBudget, Quote } from '../../core/ports/budgets.ts';
import type { RequestFacts } from '../../core/ports/request-facts.ts';
import type { Clock } from '../../core/ports.ts';
import type { ErrorCode } from '../../errors/errors.ts';
import type { Route } from '../../wires/providers/all.ts';
import { type ByteBudget, receivedBytes } from '../byte-budget.ts';
import type { BodyDecoder } from '../decode-body.ts';
import { isDecodable } from '../encodings.ts';
import { contextOf, type RequestContext } from '../request-context.ts';
import { sendError } from '../send-error.ts';
import type { Destinations } from '../upstream/destinations.ts';
import { discardUpload } from '../upstream/unread-upload.ts';
import { type AskedModel, askedIn, costOfPath, modelInPath } from './asked-model.ts';
import { watchOf } from './exchange-usage.ts';
import { type Gatekeeper, type IncomingContext, pathOf } from './gatekeeper.ts';
import { Meter, meters, type Toll, tolls } from './meter.ts';

interface BudgetDoorOptions {
  readonly budgets: BudgetGate;
  readonly destinations: Pick<Destinations, 'routeOf' | 'errorBodyFor'>;
  /** Bills requests of which only size and model are known. */
  readonly ledger: { request(facts: RequestFacts): void };
  readonly clock: Clock;
  readonly newRequestId: () => string;
  /** Budget of the bodies that are held in memory. */
  readonly received: Pick<ByteBudget, 'take'>;
  readonly decoder: Pick<BodyDecoder, 'decode'>;
  /** Maximum number of body bytes read to find the model. */
  readonly maxBodyBytes: number;
  /** Called when a request was refused. */
  readonly onRefused: (code: OverBudget['code'], keyId: string | null) => void;
}

/** HTTP methods that use no model. */
const FREE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS', 'DELETE']);
const BYTES_PER_TOKEN = 4;
/** Maximum wait of a body for memory, in milliseconds, and the `Retry-After` of a refusal, in seconds. */
const ROOM_MS = 60_000;
const BUSY_RETRY_S = 5;

/** A request that counts against a budget. */
interface Asking extends IncomingContext {
  readonly context: RequestContext;
  readonly route: Route;
}

/**
 * Refuses model requests once the budget of their key or project is used up, and meters all others, including unpruned,
 * unread and unknown ones. A WebSocket could outlive its budget, and the answer of a batch does not show its cost, so
 * these are refused for a key or project with a budget.
 */
export function budgetDoor(options: BudgetDoorOptions): Gatekeeper {
  const { budgets, destinations } = options;
  return (coming) => {
    const { req, next, kind } = coming;
    if (!budgets.isNeeded) return next();
    const context = contextOf(req, options.newRequestId());
    if (!budgets.covers(context.keyId, context.scope.project)) return next();
    if (kind === 'upgrade') return refuse(options, coming, 'upgrade_refused');
    const route = destinations.routeOf(req);
    if (route === null || FREE_METHODS.has(req.method ?? '') || route.operation?.purpose === 'count') return next();
    const cost = costOfPath(pathOf(req));
    if (cost === 'free') return next();
    if (cost === 'later') return refuse(options, coming, 'cost_not_shown');
    void enter(options, { context, route, ...coming });
  };
}

/** Never rejects. */
async function enter(options: BudgetDoorOptions, asking: Asking): Promise<void> {
  const { req, answer, context, route, next } = asking;
  const { budgets, ledger, clock } = options;
  const res = answer();
  const left = new AbortController();
  res.once('close', () => left.abort());
  // an unread body that was put back would block the connection's next request
  res.once('finish', () => req.resume());
  const release = await options.received.take(receivedBytes(req, options.maxBodyBytes), ROOM_MS, context.keyId);
  if (release === null) return refuse(options, asking, 'server_busy', BUSY_RETRY_S);
  if (res.closed) return release();
  res.once('close', release);
  onlyReadable(req);
  const asked = await askedBy(req, route, options, context.keyId);
  if (asked === 'gone') return;
  if (asked === 'empty') return refuse(options, asking, 'unreadable_body');
  if (asked.isDeferred) return refuse(options, asking, 'cost_not_shown');
  const cloud = route.provider.name;
  const quote = budgets.quote(asked.models, cloud);
  const { requestId, keyId, scope } = context;
  const dollars = ownSize(quote, asked);
  const place = await budgets.enter({ requestId, keyId, project: scope.project, dollars, signal: left.signal });
  if ('code' in place) {
    options.onRefused(place.code, keyId ?? null);
    return refuse(options, asking, place.code, place.retryAfterS);
  }
  if (res.destroyed || res.closed) return place.settle(0, false);
  const meter = new Meter({
    usage: watchOf(req, res),
    ...{ asked, cloud, context, ledger, clock, budgets, place },
  });
  meters.set(req, meter);
  tolls.set(req, (further) => meteredNow(options, { context, route }, further));
  void once(res, 'close').then(() => meter.close(res.statusCode));
  next();
}

/** See `Toll`. */
function meteredNow(
  { budgets, ledger, clock }: BudgetDoorOptions,
  { context, route }: Pick<Asking, 'context' | 'route'>,
  { req, requestId, body, usage }: Parameters<Toll>[0],
): Meter | null {
  const asked = askedOf(req, route, body);
  if (asked.isDeferred) return null;
  const { keyId, scope } = context;
  const cloud = route.provider.name;
  const dollars = ownSize(budgets.quote(asked.models, cloud), asked);
  const place = budgets.enterNow({ requestId, keyId, project: scope.project, dollars });
  if (place === null) return null;
  onlyReadable(req);
  return new Meter({ usage, asked, cloud, context: { ...context, requestId }, ledger, clock, budgets, place });
}

/** Asks for no answer whose encoding cannot be read: its cost would have to be estimated. */
function onlyReadable(req: IncomingMessage): void {
  const { rawHeaders } = req;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    if (rawHeaders[i]?.toLowerCase() !== 'accept-encoding') continue;
    const accepted = (rawHeaders[i + 1] ?? '').split(',').map((one) => one.trim());
    const readable = accepted.filter((one) => isReadable((one.split(';')[0] ?? '').trim().toLowerCase()));
    if (readable.length === accepted.length) continue;
    rawHeaders[i + 1] = readable.join(', ') || 'identity';
    req.headers['accept-encoding'] = rawHeaders[i + 1];
  }
}

function isReadable(encoding: string): boolean {
  return encoding === 'identity' || isDecodable(encoding);
}

function ownSize(quote: Quote, { bytes }: AskedModel): number {
  return quote.inputDollars(bytes / BYTES_PER_TOKEN);
}

/** Models named in a request's path and body, and its size. Never rejects. */
async function askedBy(
  req: IncomingMessage,
  route: Route,
  { decoder, maxBodyBytes: maxBytes }: BudgetDoorOptions,
  holder: string | undefined,
): Promise<AskedModel | 'gone' | 'empty'> {
  const peeked = await peekBody(req, maxBytes);
  if (!('bytes' in peeked)) return peeked.kind;
  const encoding = peeked.kind === 'whole' ? (req.headers['content-encoding'] ?? '') : '';
  const decoded = await decoder.decode({ request: req, body: peeked.bytes, encoding, maxBytes, holder });
  if (decoded.kind === 'plain') decoded.release();
  return askedOf(req, route, decoded.kind === 'plain' ? decoded.body : peeked.bytes);
}

/** @param body - decoded, if that was possible */
function askedOf(req: IncomingMessage, route: Route, body: Buffer): AskedModel {
  const declared = Number(req.headers['content-length'] ?? 0) || 0;
  const named = route.operation?.model ?? modelInPath(pathOf(req));
  const { models, isDeferred, bytes } = askedIn(body);
  return { models: named === null ? models : [named], isDeferred, bytes: Math.max(declared, bytes) };
}

function refuse(
  { destinations }: BudgetDoorOptions,
  { req, answer }: IncomingContext,
  code: ErrorCode,
  retryAfterS = 0,
): void {
  const res = answer();
  if (retryAfterS > 0) res.setHeader('Retry-After', String(retryAfterS));
  sendError(res, code, undefined, undefined, destinations.errorBodyFor(req));
  discardUpload(req);
}

/** A body that was read and put back. `gone`: the client disconnected or sent no body. */
type PeekedBody = { readonly kind: 'whole' | 'start'; readonly bytes: Buffer } | { readonly kind: 'gone' | 'empty' };

/**
 * Reads a request's body up to a limit in bytes and puts it back, so that its handler reads it again. Never rejects.
 */
async function peekBody(req: IncomingMessage, maxBytes: number): Promise<PeekedBody> {
  const declared = req.headers['content-length'];
  if (declared === '0' || (declared === undefined && req.headers['transfer-encoding'] === undefined)) {
    return { kind: 'whole', bytes: Buffer.alloc(0) };
  }
  const peeked = await readStart(req, maxBytes);
  await nextTurn(); // the stream leaves its paused mode
  return peeked;
}

function readStart(req: IncomingMessage, maxBytes: number): Promise<PeekedBody> {
  if (req.destroyed) return Promise.resolve({ kind: 'gone' });
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const done = (kind: PeekedBody['kind']): void => {
      req.off('readable', onReadable).off('end', onEnd).off('close', onGone).off('error', onGone);
      if (kind === 'gone' || kind === 'empty') resolve({ kind });
      else {
        const bytes = Buffer.concat(chunks, size);
        req.unshift(bytes);
        resolve({ kind, bytes });
      }
    };
    const onReadable = (): void => {
      let chunk = req.read() as Buffer | null;
      for (; chunk !== null && size <= maxBytes; chunk = size > maxBytes ? null : (req.read() as Buffer | null)) {
        chunks.push(chunk);
        size += chunk.length;
      }
      if (size > maxBytes) done('start');
      else if (req.complete && size > 0) done('whole');
    };
    const onEnd = (): void => done('empty');
    const onGone = (): void => done('gone');
    req.on('readable', onReadable).on('end', onEnd).on('close', onGone).on('error', onGone);
    onReadable();
  });
}
