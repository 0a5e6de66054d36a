import type {
  ColdFigures,
  CompactionStore,
  ContextPeak,
  StoredCompaction,
} from '../../../../core/ports/compactions.ts';
import { unsupported } from './unsupported.ts';

/** Compactions, narrowed to some projects. */
export class NarrowedCompactions implements CompactionStore {
  readonly #unscoped: CompactionStore;
  readonly #ownProjects: readonly string[];

  constructor(unscoped: CompactionStore, ownProjects: readonly string[]) {
    this.#unscoped = unscoped;
    this.#ownProjects = ownProjects;
  }

  /** Compactions are recorded by the process that forwards the requests. */
  add = unsupported;
  follow = unsupported;

  async since(query: Parameters<CompactionStore['since']>[0]): Promise<readonly StoredCompaction[]> {
    const found = this.#visibleProjects(query.project).map((project) => this.#unscoped.since({ ...query, project }));
    return (await Promise.all(found)).flat();
  }

  async peaks(query: Parameters<CompactionStore['peaks']>[0]): Promise<readonly ContextPeak[]> {
    const found = this.#visibleProjects(query.project).map((project) => this.#unscoped.peaks({ ...query, project }));
    return (await Promise.all(found)).flat().slice(0, query.limit);
  }

  async cold(query: Parameters<CompactionStore['cold']>[0]): Promise<ColdFigures> {
    const found = this.#visibleProjects(query.project).map((project) => this.#unscoped.cold({ ...query, project }));
    const sum = { requests: 0, usd: 0, hour_cache: { cost: 0, saved: 0 } };
    for (const { requests, usd, hour_cache } of await Promise.all(found)) {
      sum.requests += requests;
      sum.usd += usd;
      sum.hour_cache.cost += hour_cache.cost;
      sum.hour_cache.saved += hour_cache.saved;
    }
    return sum;
  }

  #visibleProjects(project: string | undefined): readonly string[] {
    return project === undefined ? this.#ownProjects : this.#ownProjects.filter((own) => own === project);
  }
}
