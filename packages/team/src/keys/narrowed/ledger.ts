import type { LedgerTurn } from 'mcp-pruner/core/ports/ledger.ts';
import type { LedgerStore, LedgerSum } from 'mcp-pruner/core/ports/ledger-store.ts';
import { unsupported } from './unsupported.ts';

/** Number of requests read at a time while searching for the viewer's requests. */
const PAGE = 500;

/** The projects that a query for one, or for all, may read. */
export function visibleOf(ownProjects: readonly string[]): (project: string | undefined) => readonly string[] {
  return (project) => ownProjects.filter((own) => project === undefined || own === project);
}

export function narrowedLedger(unscoped: LedgerStore, ownProjects: readonly string[]): LedgerStore {
  const visible = visibleOf(ownProjects);
  const newestFirst = (sums: readonly (readonly LedgerSum[])[]): LedgerSum[] =>
    sums.flat().sort((a, b) => (a.day < b.day ? 1 : a.day > b.day ? -1 : 0));
  return {
    // requests are billed by the process that forwards them
    settle: unsupported,
    add: unsupported,
    addRegret: unsupported,
    noteSent: unsupported,
    lastSent: unsupported,
    // budgets apply to the whole server
    spent: unsupported,
    // the figures of a run need no key: its random id is the secret
    costOf: unsupported,
    processes: unsupported,
    sums: async (query) =>
      newestFirst(await Promise.all(visible(query.project).map((project) => unscoped.sums({ ...query, project })))),
    totals: async (query) =>
      newestFirst(await Promise.all(visible(query.project).map((project) => unscoped.totals({ ...query, project })))),
    // filtered by project, because conversations of two projects with the same first words share an id
    async turns({ conversationId, project, after, limit }) {
      const shown = visible(project);
      const found: LedgerTurn[] = [];
      for (let behind = after; found.length < limit; ) {
        const from = behind === undefined ? {} : { after: behind };
        const page = await unscoped.turns({ conversationId, limit: PAGE, ...from });
        found.push(...page.filter((turn) => shown.includes(turn.project)));
        behind = page.at(-1)?.requestId;
        if (page.length < PAGE) break;
      }
      return found.slice(0, limit);
    },
    async conversations(query) {
      const projects = visible(query.project);
      const all = await Promise.all(projects.map((project) => unscoped.conversations({ ...query, project })));
      const newest = all.flat().sort((a, b) => b.lastMs - a.lastMs);
      return newest.slice(0, query.limit);
    },
    async cutIn(pruneId) {
      const place = await unscoped.cutIn(pruneId);
      return place !== null && ownProjects.includes(place.project) ? place : null;
    },
  };
}
