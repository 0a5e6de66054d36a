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

/** The body of a request as received, and its project and conversation. */
export interface IncomingRequest {
  /** Plain JSON where it is read. */
  readonly body: Buffer;
  /** As in `content-encoding`. The prune step decodes the body; absent: it is plain JSON. */
  readonly encoding?: string | undefined;
  readonly dialect: Dialect;
  readonly scope?: RequestScope | undefined;
  /** Default: an answer of the model. */
  readonly purpose?: Purpose | undefined;
  /** The model, where the path names it; absent: the body does. */
  readonly model?: string | undefined;
  /** The provider rejected the unpruned history. */
  readonly historyRefused?: boolean | undefined;
  /** Absent: its headers name no session. */
  readonly sessions?: SessionHeaders | undefined;
  /** Its sender; absent: its tools are not shortened. */
  readonly sender?: Sender | undefined;
  /**
   * Aborted once the caller has given up and sent something else. Nothing of this request may be recorded afterwards.
   */
  readonly signal?: AbortSignal | undefined;
  /** Receives what was read of it, before it is forwarded. Must not throw or block. */
  readonly onRead?: ((read: ReadForObservers) => void) | undefined;
}

/** What observers are given of a request that was read. */
export interface ReadForObservers {
  readonly read: ReadBody;
  /** `null`: its texts were not decided. */
  readonly segments: DecidedSegments | null;
}

/** The program that sends a request, and its kind of login. */
export interface Sender {
  /** Product name of the user agent, without its version. */
  readonly client: string;
  /** Logged in with a subscription: the provider may refuse requests that look altered. */
  readonly isSubscription: boolean;
  /** The request goes to Anthropic's own API. */
  readonly toAnthropic?: boolean;
  /** Whose login it is: a person's name, or a hash of the credentials. */
  readonly account: string;
}

/** The scope of a request without one. */
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
 * A parsed request. Only the messages after the remembered prefix were read. Once its history is recalled, the project's
 * directives (pin, stash, delete) are applied too.
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
  /** The steps of context GC that apply to it. */
  readonly steps: ApplicableSteps;
  /** The records of what was sent of it before; `NO_HISTORY` until they are recalled. */
  readonly known: KnownHistory;
  /** Its texts. */
  readonly found: readonly FoundText[];
}

/** A request as it is sent. Its decisions and records are stored; with `failed`, possibly not. */
export interface PersistedRequest {
  /** Includes the cuts adopted from another process that sent the same messages first. */
  readonly request: ReadRequest;
  readonly decisions: ReadonlyMap<FoundText, Decision>;
  readonly fallbacks: readonly string[];
  readonly spliced: Spliced;
  /** New texts were not decided (the store failed, or `TIMED_OUT`), or nothing could be stored. */
  readonly failed: boolean;
}
