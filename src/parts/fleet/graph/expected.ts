import { inTimeSlices } from '../turns.ts';
import { conflict } from './faults.ts';
import { type GraphDescriptor, type GraphDocument, sameDocument } from './model.ts';
import type { Base } from './versions.ts';

/**
 * Checks that a descriptor of an existing graph equals the committed version: by number if it names one, else by
 * content.
 */
export async function checkGiven(
  graphId: string,
  { graph_version }: GraphDescriptor,
  given: GraphDocument,
  base: Base,
) {
  const isCommitted =
    graph_version === undefined
      ? await inTimeSlices(sameDocument(given, base.document))
      : graph_version === base.version;
  if (!isCommitted) throw conflict(graphId, graph_version ?? null, base.version);
}

/** @throws FleetError `E-GRAPH-VERSION-CONFLICT` if another version is committed */
export function checkExpected(graphId: string, expected: number | undefined, found: number): void {
  if (expected !== undefined && expected !== found) throw conflict(graphId, expected, found);
}
