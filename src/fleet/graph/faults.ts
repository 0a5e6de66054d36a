import { PrunerError } from '../../errors.ts';
import { GraphShapeError, GraphSizeError } from './model.ts';
import { GraphOperationError } from './operations.ts';
import { GraphPatchError } from './patch.ts';

/** Does work on graphs; what the pure parts throw becomes the failure that clients know. */
export async function graphFault<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    if (cause instanceof GraphSizeError) throw new PrunerError('E-FLEET-BOUND', { bound: cause.message }, { cause });
    if (cause instanceof GraphOperationError) {
      throw new PrunerError('E-GRAPH-OPERATION', { index: cause.index, reason: cause.message }, { cause });
    }
    if (cause instanceof GraphPatchError) {
      const { index, path, message: reason } = cause;
      throw new PrunerError('E-GRAPH-PATCH', { index, path: path.slice(0, 200), reason }, { cause });
    }
    if (cause instanceof GraphShapeError) {
      const reason = `the graph is none: ${cause.field}: ${cause.message}`;
      throw new PrunerError('E-GRAPH-OPERATION', { index: null, field: cause.field, reason }, { cause });
    }
    throw cause;
  }
}
