import type { SeenSegment } from 'mcp-pruner/core/ports/segments.ts';

/**
 * Leaves out results to which a result that stays refers as a repeat: a copy and what refers to it are put aside
 * together, or not at all.
 *
 * @param chosen - results to put aside
 */
export function withoutReferredTo<Item extends { readonly id: string }>(
  chosen: readonly Item[],
  segments: readonly SeenSegment[],
): Item[] {
  const referring = segments.filter(
    ({ copies, directed }) => copies.length > 0 && directed !== 'aside' && directed !== 'stash',
  );
  const hashesOf = new Map(segments.map(({ id, hashes }) => [id, hashes]));
  for (let left = [...chosen]; ; ) {
    const ids = new Set(left.map(({ id }) => id));
    const needed = new Set(referring.filter(({ id }) => !ids.has(id)).flatMap(({ copies }) => copies));
    const next = left.filter(({ id }) => hashesOf.get(id)?.some((hash) => needed.has(hash)) !== true);
    if (next.length === left.length) return next;
    left = next;
  }
}
