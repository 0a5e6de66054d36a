import type { ShelfStore, ShelfSums, ShelfTool, ShelfTotals } from '../../../../core/ports/shelf.ts';
import { Narrowed, unsupported } from './narrowed.ts';

/** Evidence of the tool shelf, narrowed to some projects. */
export class NarrowedShelf extends Narrowed<ShelfStore> implements ShelfStore {
  /** Evidence is recorded by the process that forwards the requests. */
  updateShelf = unsupported;
  begin = unsupported;
  cutsOf = unsupported;
  record = unsupported;
  charge = unsupported;

  async tools({ project }: Parameters<ShelfStore['tools']>[0]): Promise<readonly ShelfTool[]> {
    return (await this.ofEach(project, (own) => this.unscoped.tools({ project: own }))).flat();
  }

  async totals({ sinceDay, project }: Parameters<ShelfStore['totals']>[0]): Promise<ShelfTotals> {
    const all = await this.ofEach(project, (own) => this.unscoped.totals({ sinceDay, project: own }));
    return {
      wouldSave: sumOf(all.map(({ wouldSave }) => wouldSave)),
      saved: sumOf(all.map(({ saved }) => saved)),
      called: all.reduce((sum, { called }) => sum + called, 0),
    };
  }
}

function sumOf(sums: readonly ShelfSums[]): ShelfSums {
  return {
    tokens: sums.reduce((sum, { tokens }) => sum + tokens, 0),
    usd: sums.reduce((sum, { usd }) => sum + usd, 0),
  };
}
