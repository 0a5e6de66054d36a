import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Viewer } from '../../core/ports/projects.ts';
import { withoutQuery } from '../../wires/providers/provider.ts';
import type { BridgeWatch } from '../websocket/bridge.ts';

/** A request that has not been admitted yet. */
export interface IncomingContext {
  readonly req: IncomingMessage;
  /** Creates the response. For a WebSocket it is called only to refuse it. */
  readonly answer: () => ServerResponse;
  /** Admits the request; it is then routed like any other. */
  readonly next: () => void;
  /** `upgrade` means a WebSocket request. */
  readonly kind: 'request' | 'upgrade';
}

/** Admits or answers requests before they are routed. It may rewrite the path. */
export type Gatekeeper = (coming: IncomingContext) => void;

/** The path of a request, without its query. */
export function pathOf({ url = '' }: IncomingMessage): string {
  return withoutQuery(url);
}

/** Whether a header occurs on several lines. @param name - in lower case */
export function isRepeated(fields: readonly string[], name: string): boolean {
  let lines = 0;
  for (let i = 0; i < fields.length; i += 2) {
    const field = fields[i] ?? '';
    if (field.length === name.length && field.toLowerCase() === name) lines++;
  }
  return lines > 1;
}

/** The key that admitted a request, and the projects it may read. */
interface Admission {
  readonly keyId: string;
  readonly viewer: Viewer;
  /**
   * Admits another request with the same head, and says whether it may. Absent if each request is judged by more than
   * its head.
   */
  readonly renew?: () => boolean;
  /** Counts such a request against the limits of the key. Absent if it has none. */
  readonly charge?: Charge | undefined;
}

/**
 * Counts a request against the limits of its key; `null` if it is over one, and was answered. Never rejects. The result
 * is to be called with the tokens that the exchange has used.
 */
export type Charge = (req: IncomingMessage, res: ServerResponse) => Promise<((tokens: number) => void) | null>;

/** Requests admitted with a key, or for a signed-in user. */
export const admitted = new WeakMap<IncomingMessage, Admission>();

/** Viewer of a request admitted with a key; otherwise `null`. */
export function viewerOf(req: IncomingMessage): Viewer | null {
  return admitted.get(req)?.viewer ?? null;
}

/** The admission of a request by an extension's own token. */
interface OwnAdmission {
  /** The child agent that sent the request. */
  readonly childId: string;
  /** Wraps the WebSocket observer so that requests in frames are counted too. `send` sends a frame to the client. */
  readonly watch: (watch: BridgeWatch, send: (frame: Buffer) => void) => BridgeWatch;
}

export const ownAdmissions = new WeakMap<IncomingMessage, OwnAdmission>();
