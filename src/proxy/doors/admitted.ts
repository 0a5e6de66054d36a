import type { IncomingMessage } from 'node:http';
import type { Viewer } from '../../core/ports/projects.ts';
import type { BridgeWatch } from '../websocket/bridge.ts';

/** The key that admitted a request, and the projects it may read. */
interface Admission {
  readonly keyId: string;
  readonly viewer: Viewer;
}

/** Requests admitted with a key, or for a signed-in user. */
export const admitted = new WeakMap<IncomingMessage, Admission>();

/** Viewer of a request admitted with a key; otherwise `null`. */
export function viewerOf(req: IncomingMessage): Viewer | null {
  return admitted.get(req)?.viewer ?? null;
}

/** The admission of a request by an extension's own token. */
export interface OwnAdmission {
  /** The child agent that sent the request. */
  readonly childId: string;
  /** Wraps the WebSocket observer so that requests in frames are counted too. `send` sends a frame to the client. */
  readonly watch: (watch: BridgeWatch, send: (frame: Buffer) => void) => BridgeWatch;
}

export const ownAdmissions = new WeakMap<IncomingMessage, OwnAdmission>();
