import type { LedgerTurn } from 'mcp-pruner/core/ports/ledger.ts';
import type { CutPlace, LedgerConversation, LedgerStore, LedgerSum } from 'mcp-pruner/core/ports/ledger-store.ts';
import { Narrowed, unsupported } from './narrowed.ts';

/** Number of requests read at a time while searching for the viewer's requests. */
const PAGE = 500;

export class NarrowedLedger extends Narrowed<LedgerStore> implements LedgerStore {
  /** Requests are billed by the process that forwards them. */
  settle = unsupported;
  add = unsupported;
  addRegret = unsupported;
  noteSent = unsupported;
  lastSent = unsupported;

  async sums({ project, ...of }: Parameters<LedgerStore['sums']>[0]): Promise<readonly LedgerSum[]> {
    const all = await this.ofEach(project, (one) => this.unscoped.sums({ ...of, project: one }));
    return all.flat().sort((a, b) => (a.day < b.day ? 1 : a.day > b.day ? -1 : 0));
  }

  /** Budgets apply to the whole server. */
  spent = unsupported;
  /** The figures of a run need no key: its random id is the secret. */
  costOf = unsupported;
  processes = unsupported;

  async totals({ sinceDay, project }: Parameters<LedgerStore['totals']>[0]): Promise<readonly LedgerSum[]> {
    const all = await this.ofEach(project, (one) => this.unscoped.totals({ sinceDay, project: one }));
    return all.flat().sort((a, b) => (a.day < b.day ? 1 : a.day > b.day ? -1 : 0));
  }

  /** Filtered by project, because conversations of two projects with the same first words share an id. */
  async turns({
    conversationId,
    project,
    after,
    limit,
  }: Parameters<LedgerStore['turns']>[0]): Promise<readonly LedgerTurn[]> {
    const shown = this.ownProjects.filter((own) => project === undefined || own === project);
    const found: LedgerTurn[] = [];
    for (let behind = after; found.length < limit; ) {
      const from = behind === undefined ? {} : { after: behind };
      const page = await this.unscoped.turns({ conversationId, limit: PAGE, ...from });
      found.push(...page.filter((turn) => shown.includes(turn.project)));
      behind = page.at(-1)?.requestId;
      if (page.length < PAGE) break;
    }
    return found.slice(0, limit);
  }

  async conversations({
    sinceMs,
    project,
    limit,
  }: Parameters<LedgerStore['conversations']>[0]): Promise<readonly LedgerConversation[]> {
    const all = await this.ofEach(project, (one) => this.unscoped.conversations({ sinceMs, limit, project: one }));
    return all
      .flat()
      .sort((a, b) => b.lastMs - a.lastMs)
      .slice(0, limit);
  }

  async cutIn(pruneId: string): Promise<CutPlace | null> {
    const place = await this.unscoped.cutIn(pruneId);
    return place !== null && this.ownProjects.includes(place.project) ? place : null;
  }
}
