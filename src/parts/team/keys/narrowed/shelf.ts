import type { ShelfStore, ShelfSums, ShelfTool, ShelfTotals } from '../../../../core/ports/shelf.ts';
import { unsupported } from './unsupported.ts';

/** Evidence of the tool shelf, narrowed to some projects. */
export class NarrowedShelf implements ShelfStore {
  readonly #unscoped: ShelfStore;
  readonly #ownProjects: readonly string[];

  constructor(unscoped: ShelfStore, ownProjects: readonly string[]) {
    this.#unscoped = unscoped;
    this.#ownProjects = ownProjects;
  }

  /** Evidence is noted by the process that forwards the requests. */
  updateShelf = unsupported;
  begin = unsupported;
  cutsOf = unsupported;
  record = unsupported;
  charge = unsupported;

  async tools({ project }: Parameters<ShelfStore['tools']>[0]): Promise<readonly ShelfTool[]> {
    const found = this.#visibleProjects(project).map((own) => this.#unscoped.tools({ project: own }));
    return (await Promise.all(found)).flat();
  }

  async totals({ sinceDay, project }: Parameters<ShelfStore['totals']>[0]): Promise<ShelfTotals> {
    const found = this.#visibleProjects(project).map((own) => this.#unscoped.totals({ sinceDay, project: own }));
    const all = await Promise.all(found);
    return {
      wouldSave: sumOf(all.map(({ wouldSave }) => wouldSave)),
      saved: sumOf(all.map(({ saved }) => saved)),
      called: all.reduce((sum, { called }) => sum + called, 0),
    };
  }

  #visibleProjects(project: string | undefined): readonly string[] {
    return project === undefined ? this.#ownProjects : this.#ownProjects.filter((own) => own === project);
  }
}

function sumOf(sums: readonly ShelfSums[]): ShelfSums {
  return {
    tokens: sums.reduce((sum, { tokens }) => sum + tokens, 0),
    usd: sums.reduce((sum, { usd }) => sum + usd, 0),
  };
}
