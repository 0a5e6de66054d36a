import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FailureReporter } from 'mcp-pruner/base/failures.ts';
import { asksModel, watchOf } from 'mcp-pruner/proxy/doors/exchange-usage.ts';
import {
  admitted,
  type Charge,
  type IncomingContext,
  ownAdmissions,
  pathOf,
} from 'mcp-pruner/proxy/doors/gatekeeper.ts';
import { projectNamed } from 'mcp-pruner/proxy/request-context.ts';
import { sendError } from 'mcp-pruner/proxy/send-error.ts';
import type { Destinations } from 'mcp-pruner/proxy/upstream/destinations.ts';
import { discardUpload } from 'mcp-pruner/proxy/upstream/unread-upload.ts';
import type { Admitted, KeyRefusal, OverLimit } from '../admission.ts';
import { keyError } from '../errors.ts';
import type { Gate } from '../gate.ts';
import type { Identities } from '../identity.ts';

const HEADER = 'x-mcp-pruner-key';
/** Matches complete keys only, because provider keys may have the same prefix by coincidence. */
const KEY = /(?<![\w-])mpk_[\w-]{43}(?![\w-])/;
/** Matches `/k/<key>/v1…`. The key segment is never forwarded, whatever it contains. */
const PATH = /^\/k\/([^/?]*)(\/[^?]*)?(\?.*)?$/;
/** Headers in which clients send the provider's key. */
const PROVIDERS = ['authorization', 'x-api-key', 'api-key', 'x-goog-api-key'] as const;
/** Paths answered by the proxy without a model. Their handlers charge texts to prune. */
const OWN = /^\/(?:$|admin\/|run\/|rpc(?:\/|$)|mcp(?:\/|$)|prune(?:\/|$)|page(?:\/|$)|metrics$|favicon\.ico$)/;
/** Paths with their own access control: the page (which asks for the key itself), metrics and the admin API. */
const OWN_DOOR = /^\/(?:$|admin\/|page(?:\/|$)|metrics$|favicon\.ico$)/;
/** Id prefix of users, which are not keys in the store. */
const USER = 'user:';
const BYTES_PER_TOKEN = 4;

interface KeyDoorOptions {
  readonly gate: Gate;
  /** If absent, users cannot sign in. */
  readonly identities?: Identities | undefined;
  readonly destinations: Pick<Destinations, 'routeOf' | 'errorBodyFor'>;
  readonly onFailure: FailureReporter;
}

type Refused = KeyRefusal | OverLimit['code'] | 'upgrade_refused';

/**
 * Admits requests by access key. The key is removed from the request, so that neither header nor path segment is
 * forwarded. Admitted requests get a project that the key grants.
 */
export class KeyDoor {
  readonly #options: KeyDoorOptions;

  /** Key ids of admitted WebSockets, which outlive their upgrade request. */
  readonly #sockets = new Map<Socket, string>();

  constructor(options: KeyDoorOptions) {
    this.#options = options;
    options.gate.onVoid(() => this.#endVoid());
  }

  /** Admits a request by calling its `next`, or answers it. */
  enter(coming: IncomingContext): void {
    const { req, next } = coming;
    const { identities } = this.#options;
    const user = identities?.of(req.socket.remoteAddress ?? '', req.headers, projectNamed(req.headers)) ?? null;
    if (identities) takeHeaders(req, identities.headers);
    const isChild = ownAdmissions.has(req); // already admitted by its own token
    const shown = isChild ? null : takeKey(req);
    if (isChild) next();
    else if (user === null || shown !== null) this.#ask(coming, shown);
    else if (isMisplaced(req)) this.#refuse(coming, 'key_misplaced');
    else this.#answered(coming, user);
  }

  #ask(coming: IncomingContext, shown: string | null): void {
    const { req, next } = coming;
    const { gate, onFailure } = this.#options;
    if (isMisplaced(req)) this.#refuse(coming, 'key_misplaced');
    else if (shown === null && this.#isAmong(OWN_DOOR, req)) next();
    else if (shown === null) this.#refuse(coming, 'key_missing');
    else {
      const found = gate.admit(shown, projectNamed(req.headers));
      if (!(found instanceof Promise)) this.#answered(coming, found);
      else {
        found.then(
          (late) => this.#answered(coming, late),
          (cause: unknown) => {
            onFailure('internal_error', cause);
            this.#refuse(coming, 'keys_unavailable');
          },
        );
      }
    }
  }

  #answered(coming: IncomingContext, found: Admitted | KeyRefusal): void {
    if (typeof found === 'string') this.#refuse(coming, found);
    else {
      const { keyId, viewer, limited } = found;
      const isSteady = !this.#options.identities && !keyId.startsWith(USER);
      const renew = (): boolean => this.#options.gate.renew(keyId);
      const charge: Charge | undefined = limited === 'no' ? undefined : (req, res) => this.#charge(req, res, found);
      admitted.set(coming.req, isSteady ? { keyId, viewer, renew, charge } : found);
      this.#withinLimits(coming, found);
    }
  }

  #withinLimits(coming: IncomingContext, by: Admitted): void {
    const { req, next, kind } = coming;
    if (by.limited === 'no' || this.#isAmong(OWN, req)) {
      if (kind === 'upgrade' && !by.keyId.startsWith(USER)) this.#follow(req.socket, by.keyId);
      next();
    }
    // a key's limits are enforced per request, and a WebSocket would bypass them
    else if (kind === 'upgrade') this.#refuse(coming, 'upgrade_refused');
    else void this.#count(coming, by);
  }

  #follow(socket: Socket, keyId: string): void {
    if (socket.destroyed) return;
    this.#sockets.set(socket, keyId);
    socket.once('close', () => this.#sockets.delete(socket));
  }

  #endVoid(): void {
    for (const [socket, keyId] of this.#sockets) if (this.#options.gate.known(keyId) === null) socket.destroy();
  }

  /** Counts a request; its tokens are counted after the answer. Never rejects. */
  async #count({ req, answer, next }: IncomingContext, by: Admitted): Promise<void> {
    const res = answer();
    const settle = await this.#charge(req, res, by);
    if (settle === null) return;
    if (settle !== NO_TOKENS) {
      const usage = watchOf(req, res);
      res.once('close', () => void usage.total().then(({ tokensIn, tokensOut }) => settle(tokensIn + tokensOut)));
    }
    next();
  }

  /** See `Charge`. */
  async #charge(req: IncomingMessage, res: ServerResponse, by: Admitted): ReturnType<Charge> {
    const { gate } = this.#options;
    const estimated = Math.max(1, Math.ceil((Number(req.headers['content-length']) || 0) / BYTES_PER_TOKEN));
    const isModelCall = req.method === 'POST' && asksModel(pathOf(req));
    const taken = await gate.take(by, isModelCall ? estimated : 0);
    if ('code' in taken) {
      this.#refuse({ req, answer: () => res }, taken.code, by.keyId, taken.retryAfterS);
      return null;
    }
    return isModelCall && by.limited === 'tokens' ? (tokens) => void gate.settle(by, taken, tokens) : NO_TOKENS;
  }

  /** Whether a path is in a list; paths claimed by a wire always lead to a model. */
  #isAmong(paths: RegExp, req: IncomingMessage): boolean {
    return paths.test(pathOf(req)) && !this.#options.destinations.routeOf(req)?.operation;
  }

  #refuse(
    { req, answer }: Pick<IncomingContext, 'req' | 'answer'>,
    code: Refused,
    keyId: string | null = null,
    retryAfterS = 0,
  ): void {
    const { gate, destinations } = this.#options;
    if (code !== 'upgrade_refused') gate.refused(code, keyId);
    const res = answer();
    const waitS = code === 'keys_unavailable' ? 1 : retryAfterS;
    if (waitS > 0) res.setHeader('Retry-After', String(waitS));
    sendError(
      res,
      code === 'upgrade_refused' ? code : keyError(code),
      undefined,
      undefined,
      destinations.errorBodyFor(req),
    );
    discardUpload(req);
  }
}

/** The result of a `Charge` where the tokens do not count. */
const NO_TOKENS = (): void => {};

/** Removes headers from a request, so that they are neither trusted nor forwarded. */
function takeHeaders(req: IncomingMessage, names: readonly string[]): void {
  for (const name of names) delete req.headers[name];
  const { rawHeaders } = req;
  for (let i = rawHeaders.length - 2; i >= 0; i -= 2) {
    if (names.includes((rawHeaders[i] ?? '').toLowerCase())) rawHeaders.splice(i, 2);
  }
}

/** Extracts and removes the key of a request; `null` without one. */
function takeKey(req: IncomingMessage): string | null {
  const header = req.headers[HEADER];
  delete req.headers[HEADER];
  const [whole, inPath, path = '/', query = ''] = PATH.exec(req.url ?? '') ?? [];
  if (whole !== undefined) req.url = path + query;
  return typeof header === 'string' ? header : (inPath ?? null);
}

function isMisplaced(req: IncomingMessage): boolean {
  return PROVIDERS.some((name) => KEY.test(String(req.headers[name] ?? ''))) || KEY.test(req.url ?? '');
}
