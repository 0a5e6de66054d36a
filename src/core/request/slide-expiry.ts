import type { FailureReporter } from '../../failures.ts';
import { pruneIdsIn } from '../hash.ts';
import type { Ownership } from '../ownership.ts';
import type { Store } from '../ports.ts';

/** Most prune ids of one request whose expiry is extended: more than a context of a million tokens contains. */
const MAX_TOUCHED = 30_000;

interface SlideOptions {
  readonly store: Store;
  /** Where originals belong to projects. */
  readonly owners?: Ownership;
  readonly onFailure: FailureReporter;
}

/**
 * Extends the expiry of every prune id in the new part of a body, in our markers or in quoted text. Never rejects.
 *
 * @param from - byte from which on the body is new
 */
export async function slideExpiry(
  { store, owners, onFailure }: SlideOptions,
  body: Buffer,
  from: number,
  project: string,
): Promise<void> {
  const needle = 'prune_id=prn_';
  const first = body.indexOf(needle, from);
  if (first < 0) return;
  const ids = new Set<string>();
  for (let at = first; at >= 0 && ids.size < MAX_TOUCHED; at = body.indexOf(needle, at + 1)) {
    for (const id of pruneIdsIn(body.toString('latin1', at, at + 32))) ids.add(id);
  }
  if (ids.size === 0) return;
  try {
    const touch = owners ? await owners.among(project, ids) : [...ids];
    if (touch.length > 0) await store.commit({ decisions: [], touch }, 0);
  } catch (cause) {
    onFailure('not_slid', cause);
  }
}
