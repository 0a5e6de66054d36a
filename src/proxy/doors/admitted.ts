import type { IncomingMessage } from 'node:http';
import type { Viewer } from '../../core/ports/projects.ts';
import type { BridgeWatch } from '../websocket/bridge.ts';

/** The key with which a request was admitted, and the projects that it may read. */
interface Admission {
  readonly keyId: string;
  readonly viewer: Viewer;
}

/** Requests admitted with a key, or for a signed-in user. */
export const admitted = new WeakMap<IncomingMessage, Admission>();

/** The viewer of a request that was admitted with a key; `null` otherwise. */
export function viewerOf(req: IncomingMessage): Viewer | null {
  return admitted.get(req)?.viewer ?? null;
}

/** The admission of a request by an extension's own token. */
export interface OwnAdmission {
  /** The child agent that sends it. */
  readonly childId: string;
  /**
   * Wraps the observer of its WebSocket: the result also counts the requests in the frames. `send` sends a frame to the
   * client.
   */
  readonly watch: (watch: BridgeWatch, send: (frame: Buffer) => void) => BridgeWatch;
}

export const ownAdmissions = new WeakMap<IncomingMessage, OwnAdmission>();
