import type { Dialect, Purpose } from '../../wires/dialects/dialect.ts';
import type { DirectivesView, RequestScope } from '../ports/segments.ts';
import type { Decision } from '../ports.ts';
import type { ApplicableSteps } from '../segments/apply-directives.ts';
import type { DecidedSegments } from '../segments/describe.ts';
import type { KnownHistory } from '../sent/history.ts';
import type { FoundText } from './found-text.ts';
import type { Binding, Policy } from './policy.ts';
import type { ReadBody } from './read.ts';
import type { SessionHeaders } from './session.ts';
import type { Spliced } from './splice.ts';

/** A received request body, with its project and conversation. */
export interface IncomingRequest {
  /** Plain JSON, after decoding. */
  readonly body: Buffer;
  readonly dialect: Dialect;
  readonly scope?: RequestScope | undefined;
  /** Default: a model answer. */
  readonly purpose?: Purpose | undefined;
  /** Model named in the path. If absent, the body names it. */
  readonly model?: string | undefined;
  /** The provider rejected the unpruned history. */
  readonly historyRefused?: boolean | undefined;
  /** Absent if the headers contain no session id. */
  readonly sessions?: SessionHeaders | undefined;
  /** Sender of the request. If absent, its tools are not shortened. */
  readonly sender?: Sender | undefined;
  /**
   * Aborted once the caller has given up and forwarded another body. Nothing about this request may be recorded then.
   */
  readonly signal?: AbortSignal | undefined;
  /** Called with the parsed request before it is forwarded. Must not throw or block. */
  readonly onRead?: ((read: ReadForObservers) => void) | undefined;
}

/** A parsed request as passed to observers. */
export interface ReadForObservers {
  readonly read: ReadBody;
  /** `null` if its texts were not decided. */
  readonly segments: DecidedSegments | null;
}

/** The program that sends a request, and its kind of login. */
export interface Sender {
  /** Product name of the user agent, without its version. */
  readonly client: string;
  /** The login is a subscription: the provider may refuse requests that look altered. */
  readonly isSubscription: boolean;
  /** Owner of the login: a person's name, or a hash of the credentials. */
  readonly account: string;
}

/** Scope of requests that name none. */
export const NO_SCOPE: RequestScope = { project: 'default', task: '', requestId: '' };

/** The state of the store before a request is read. */
export interface StoreState {
  readonly epoch: string;
  readonly directives: DirectivesView;
  readonly now: number;
  /** Why the store could not be queried, or `null`. */
  readonly failure: unknown;
}

/**
 * A parsed request. Only messages after the remembered prefix were read. After the recall stage, directives (pin,
 * stash, delete) are applied too.
 */
export interface ReadRequest {
  readonly body: Buffer;
  readonly dialect: Dialect;
  readonly scope: RequestScope;
  readonly signal: AbortSignal | undefined;
  readonly onRead: IncomingRequest['onRead'];
  readonly sender: Sender | undefined;
  readonly policy: Policy;
  readonly binding: Binding;
  readonly state: StoreState;
  readonly read: ReadBody;
  /** The context-GC steps that apply. */
  readonly steps: ApplicableSteps;
  /** Records of how its messages were sent before; `NO_HISTORY` until the recall stage. */
  readonly known: KnownHistory;
  /** Its texts. */
  readonly found: readonly FoundText[];
}

/** A request as it will be sent. Its decisions and records are stored, unless `failed` is set. */
export interface PersistedRequest {
  /** Includes cuts adopted from another process that sent the same messages first. */
  readonly request: ReadRequest;
  readonly decisions: ReadonlyMap<FoundText, Decision>;
  readonly fallbacks: readonly string[];
  readonly spliced: Spliced;
  /** New texts were not decided (store failure or `TIMED_OUT`), or nothing could be stored. */
  readonly failed: boolean;
}
