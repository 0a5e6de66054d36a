import type { ShelfStore, ShelfSums, ShelfTool } from '../../core/ports/shelf.ts';
import { unsupported } from './unsupported.ts';

/** Evidence of some projects. */
export class NarrowedShelf implements ShelfStore {
  readonly #unscoped: ShelfStore;
  readonly #ownProjects: readonly string[];

  constructor(unscoped: ShelfStore, ownProjects: readonly string[]) {
    this.#unscoped = unscoped;
    this.#ownProjects = ownProjects;
  }

  /** Evidence is noted by the process that forwards the requests. */
  see = unsupported;
  charge = unsupported;

  async tools({ project }: Parameters<ShelfStore['tools']>[0]): Promise<readonly ShelfTool[]> {
    const found = this.#asked(project).map((own) => this.#unscoped.tools({ project: own }));
    return (await Promise.all(found)).flat();
  }

  async wouldSave({ sinceDay, project }: Parameters<ShelfStore['wouldSave']>[0]): Promise<ShelfSums> {
    const found = this.#asked(project).map((own) => this.#unscoped.wouldSave({ sinceDay, project: own }));
    const sum = { tokens: 0, usd: 0 };
    for (const { tokens, usd } of await Promise.all(found)) {
      sum.tokens += tokens;
      sum.usd += usd;
    }
    return sum;
  }

  #asked(project: string | undefined): readonly string[] {
    return project === undefined ? this.#ownProjects : this.#ownProjects.filter((own) => own === project);
  }
}
