import { BoundedMap } from '../base/bounded-map.ts';
import { type Work, waitFor } from '../base/work.ts';
import type { ProjectStore } from './ports/projects.ts';
import type { Store } from './ports.ts';

/** Maximum number of cached (project, prune) pairs. */
const MAX_REMEMBERED = 200_000;

/**
 * Which projects sent which originals, cached so that each conversation queries the store only once. The cache is valid
 * for one epoch of the store, because the owners of a deleted prune are deleted too.
 */
export class Ownership {
  readonly #projects: () => Promise<ProjectStore>;
  readonly #store: Pick<Store, 'epoch'>;
  readonly #written = new BoundedMap<string, true>(MAX_REMEMBERED);
  #epoch = '';

  constructor(projects: () => Promise<ProjectStore>, store: Pick<Store, 'epoch'>) {
    this.#projects = projects;
    this.#store = store;
  }

  /** Records that prunes were stored with this owner. Never throws. */
  remember(project: string, pruneIds: Iterable<string>): void {
    try {
      this.#forgetOldEpoch();
    } catch {
      return; // the store has become unavailable; the next call queries it again
    }
    for (const id of pruneIds) this.#written.set(nameOf(project, id), true);
  }

  /**
   * Registers a project as owner of prunes whose texts it sent. Done when this is durable.
   *
   * @throws StoreUnavailable
   */
  *claim(project: string, pruneIds: Iterable<string>): Work<void> {
    const fresh = this.#unknown(project, pruneIds);
    if (fresh.length === 0) return;
    yield* waitFor((yield* waitFor(this.#projects())).claim(project, fresh));
    this.remember(project, fresh);
  }

  /**
   * Returns the prunes that the project owns.
   *
   * @throws StoreUnavailable
   */
  *ownedBy(project: string, pruneIds: Iterable<string>): Work<string[]> {
    const all = [...pruneIds];
    const asked = this.#unknown(project, all);
    if (asked.length > 0) {
      const projects = yield* waitFor(this.#projects());
      this.remember(project, yield* waitFor(projects.owned([project], asked)));
    }
    return all.filter((id) => this.#written.has(nameOf(project, id)));
  }

  #forgetOldEpoch(): void {
    const epoch = this.#store.epoch();
    if (epoch !== this.#epoch) this.#written.clear();
    this.#epoch = epoch;
  }

  #unknown(project: string, pruneIds: Iterable<string>): string[] {
    this.#forgetOldEpoch();
    return [...new Set(pruneIds)].filter((id) => !this.#written.has(nameOf(project, id)));
  }
}

function nameOf(project: string, pruneId: string): string {
  return `${pruneId} ${project}`;
}
