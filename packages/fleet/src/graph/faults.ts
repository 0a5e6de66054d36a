import { FleetError } from '../errors.ts';
import type { GraphLock } from '../ports.ts';
import { GraphShapeError, GraphSizeError } from './model.ts';
import { GraphOperationError } from './operations.ts';
import { GraphPatchError } from './patch.ts';

/** Runs work on graphs, and converts errors to the contract's error codes. */
export async function graphFault<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    if (cause instanceof GraphSizeError) throw new FleetError('E-FLEET-BOUND', { bound: cause.message }, { cause });
    if (cause instanceof GraphOperationError) {
      throw new FleetError('E-GRAPH-OPERATION', { index: cause.index, reason: cause.message }, { cause });
    }
    if (cause instanceof GraphPatchError) {
      const { index, path, message: reason } = cause;
      throw new FleetError('E-GRAPH-PATCH', { index, path: path.slice(0, 200), reason }, { cause });
    }
    if (cause instanceof GraphShapeError) {
      const reason = `the graph is not valid: ${cause.field}: ${cause.message}`;
      throw new FleetError('E-GRAPH-OPERATION', { index: null, field: cause.field, reason }, { cause });
    }
    throw cause;
  }
}

export function conflict(graphId: string, expected: number | null, found: number): FleetError {
  return new FleetError('E-GRAPH-VERSION-CONFLICT', { graph_id: graphId, expected, found });
}

export function notFound(graphId: string, version?: number): FleetError {
  return new FleetError('E-GRAPH-NOT-FOUND', { graph_id: graphId, version });
}

export function lockData({ graphId, holder, lockId, expiresMs }: GraphLock) {
  return { graph_id: graphId, holder, lock_id: lockId, expires_at: expiresMs };
}

export function locked(lock: GraphLock): FleetError {
  return new FleetError('E-GRAPH-MUTATION-LOCKED', lockData(lock));
}
