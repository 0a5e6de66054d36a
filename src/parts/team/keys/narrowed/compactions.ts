import type {
  ColdFigures,
  CompactionStore,
  ContextPeak,
  StoredCompaction,
} from '../../../../core/ports/compactions.ts';
import { Narrowed, unsupported } from './narrowed.ts';

/** Compactions, narrowed to some projects. */
export class NarrowedCompactions extends Narrowed<CompactionStore> implements CompactionStore {
  /** Compactions are recorded by the process that forwards the requests. */
  add = unsupported;
  follow = unsupported;

  async since(query: Parameters<CompactionStore['since']>[0]): Promise<readonly StoredCompaction[]> {
    const found = await this.ofEach(query.project, (project) => this.unscoped.since({ ...query, project }));
    return found.flat();
  }

  async peaks(query: Parameters<CompactionStore['peaks']>[0]): Promise<readonly ContextPeak[]> {
    const found = await this.ofEach(query.project, (project) => this.unscoped.peaks({ ...query, project }));
    return found.flat().slice(0, query.limit);
  }

  async cold(query: Parameters<CompactionStore['cold']>[0]): Promise<ColdFigures> {
    const found = await this.ofEach(query.project, (project) => this.unscoped.cold({ ...query, project }));
    const sum = { requests: 0, usd: 0, hour_cache: { cost: 0, saved: 0 } };
    for (const { requests, usd, hour_cache } of found) {
      sum.requests += requests;
      sum.usd += usd;
      sum.hour_cache.cost += hour_cache.cost;
      sum.hour_cache.saved += hour_cache.saved;
    }
    return sum;
  }
}
