import type { ProjectStore } from '../../core/ports/projects.ts';
import { ProjectLists } from '../project-lists.ts';
import { type Access, BACKGROUND_WAIT_MS } from './access.ts';

/** `ProjectStore` on the tables of a store's file. */
export class FileProjects extends ProjectLists implements ProjectStore {
  readonly #access: Access;

  constructor(access: Access) {
    super(access);
    this.#access = access;
  }

  async claim(project: string, pruneIds: readonly string[]): Promise<void> {
    if (pruneIds.length === 0) return;
    await this.#access.write(({ owners }) => {
      for (const pruneId of pruneIds) owners.add(project, pruneId);
    });
  }

  async adopt(): Promise<void> {
    await this.#access.write(({ owners }) => owners.adopt(), { waitMs: BACKGROUND_WAIT_MS });
  }
}
