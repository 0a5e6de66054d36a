import type { IncomingMessage } from 'node:http';
import type { Admitted } from '../../core/ports/key-gate.ts';
import type { Viewer } from '../../core/ports/projects.ts';

/** Requests that came in with a key, and what they may. */
export const admitted = new WeakMap<IncomingMessage, Admitted>();

/** Whose request it is, where it came in with a key; `null` otherwise. */
export function viewerOf(req: IncomingMessage): Viewer | null {
  return admitted.get(req)?.viewer ?? null;
}
