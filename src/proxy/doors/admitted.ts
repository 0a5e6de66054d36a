import type { IncomingMessage } from 'node:http';
import type { Admitted } from '../../core/ports/key-gate.ts';
import type { Viewer } from '../../core/ports/projects.ts';

/** Requests admitted with a key, and their permissions. */
export const admitted = new WeakMap<IncomingMessage, Admitted>();

/** The viewer of a request that was admitted with a key; `null` otherwise. */
export function viewerOf(req: IncomingMessage): Viewer | null {
  return admitted.get(req)?.viewer ?? null;
}
