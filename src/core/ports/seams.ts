import type { Dialect, ProviderUsage, Purpose } from '../../wires/dialects/dialect.ts';
import type { PrefixMatch } from '../request/prefix-memo.ts';
import type { RewrittenRequest } from '../request/rewritten.ts';
import type { RequestScope } from './segments.ts';

/** A model request about to be sent, with its sender and destination. */
export interface SeamRequest {
  readonly requestId: string;
  readonly project: string;
  readonly scope: RequestScope;
  /** Whether originals belong to projects. */
  readonly isOwned: boolean;
  /** Id of the access key; absent without keys. */
  readonly keyId: string | undefined;
  /** Hash of the provider keys in the request. */
  readonly caller: string;
  /** Product and version of the user agent. */
  readonly client: string;
  readonly isSubscription: boolean;
  /** Pruning is off for the request, or for its project; or only shown. New compactions are not made then. */
  readonly isQuiet: boolean;
  /** Later requests leave out what was in this one. A compaction under way could not be used by them, and is given up. */
  readonly isSocket?: boolean;
  /** The client's headers: name, value, name, value, … */
  readonly rawHeaders: readonly string[];
  readonly dialect: Dialect;
  readonly purpose: Purpose;
  readonly rewritten: RewrittenRequest;
  /** The body as it would be sent: plain JSON. */
  readonly body: Buffer;
  /** When the request arrived, by `SeamSeat.nowMs`. */
  readonly beganMs: number;
  readonly origin: string;
  /** Path and query at the origin. */
  readonly path: string;
  /**
   * Waits while the store is unavailable, within the limits for histories.
   *
   * @returns whether to try again
   */
  wait(cause: unknown): Promise<boolean>;
  /**
   * Sends a request of the proxy itself to the same destination.
   *
   * @throws if there is no answer in time, or it is too large
   */
  send(path: string, headers: readonly string[], body: Buffer, limits: SendLimits): Promise<OwnAnswer>;
}

interface SendLimits {
  readonly timeoutMs: number;
  readonly maxBytes: number;
}

/** The answer to a request of the proxy itself. */
interface OwnAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}

/** A body in which summarised messages are replaced. */
export interface Swapped {
  readonly body: Buffer;
  /** Feature for `anthropic-beta`; `''` if none is needed. */
  readonly beta: string;
  /** Number of leading messages of the client that are no longer sent. */
  readonly replaced: number;
}

/** One request in the hands of the part. Methods never throw. */
export interface SeamExchange {
  /** The body to send instead; `null` leaves it as it is. */
  readonly swapped: Swapped | null;
  /** It could not be found out whether the conversation has a summary: the request goes out without one. */
  readonly isUnknown: boolean;
  /** The provider refused the swapped request (400). @returns what to send once instead, perhaps with an older summary */
  refused(): Promise<Swapped>;
  /**
   * The provider refused a history that it may have accepted with a summary: one that was erased, or is unknown.
   *
   * @returns the request without what the model thought; `null` if there is nothing of that
   */
  bare(): Buffer | null;
  /** `bare` is sent: the conversation goes on like that. */
  lost(): Promise<void>;
  /** The answer to what was sent began. @param fields - name, value, name, value, … */
  head(status: number, fields: readonly string[]): void;
  /** A successful answer ended. */
  ended(usage: ProviderUsage | null): void;
}

/** A request in which nothing is to be pruned. */
export interface PassingRequest {
  readonly dialect: Dialect;
  readonly body: Buffer;
  /** The remembered body that it continues; `null` if none is remembered. */
  readonly match: PrefixMatch | null;
}

/** Replaces messages by the provider's summary before a request is sent, and observes answers. */
export interface SeamSeat {
  /**
   * Whether requests of a project on a wire may contain replaced messages, or lead to a compaction. Cheap.
   *
   * @param isAsked - the request has the header `x-mcp-pruner-seams`
   */
  concerns(project: string, wire: Dialect['name'], isAsked: boolean): boolean;
  /**
   * Whether a request needs no `enter`, although its project is concerned: its conversation was read from the store and
   * has no summary, and the request brings no words of the user. Cheap, from memory.
   */
  passes(project: string, request: PassingRequest): boolean;
  nowMs(): number;
  /** Never rejects. */
  enter(request: SeamRequest): Promise<SeamExchange>;
  /**
   * A request that did not `enter` was answered. Called before the next one of its conversation enters: reports of
   * requests come later, and in any order.
   */
  answered(project: string, conversation: string, usage: ProviderUsage | null): void;
}
