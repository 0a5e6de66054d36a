import type { LedgerReport, LedgerTurn } from '../core/ports/ledger.ts';
import { MOST_HITS, type RecallAnswer } from '../core/recall/recall.ts';
import { alarmWords } from '../core/saving-alarm.ts';
import type { ContextReport } from '../ledger/compactions.ts';
import type { PageParts } from './parts.ts';
import type { PrunePage, StoreShown } from './shapes.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const TURNS_OF_A_PAGE = 100;
const PRUNES_OF_A_PAGE = 50;

/** What the last days cost and what pruning changed. @throws StoreUnavailable */
export async function ledgerView(
  { ledger, clock, savingAlarm }: PageParts,
  days: number,
  project: string | undefined,
): Promise<LedgerReport> {
  const sinceDay = new Date(clock.nowMs() - (days - 1) * DAY_MS).toISOString().slice(0, 10);
  const report = await ledger.report({ sinceDay, project });
  const alarm = savingAlarm();
  if (alarm === null) return report;
  const { what, advice } = alarmWords(alarm);
  return { ...report, notes: [`${what}; ${advice}`, ...report.notes] };
}

/** Compactions seen and avoided, and what pauses cost, in the last days. @throws StoreUnavailable */
export async function contextsView(
  { contexts, clock }: PageParts,
  days: number,
  project: string | undefined,
): Promise<ContextReport> {
  const sinceDay = new Date(clock.nowMs() - (days - 1) * DAY_MS).toISOString().slice(0, 10);
  return contexts({ sinceDay, project });
}

/** Results of tools that hold the words of a query. @throws StoreUnavailable */
export function found(
  { recall, project: own }: PageParts,
  {
    query,
    project = own,
    limit,
  }: { readonly query: string; readonly project?: string | undefined; readonly limit: number },
): Promise<RecallAnswer> {
  return recall.search({ query, scope: 'project', limit: Math.min(Math.max(1, limit), MOST_HITS), project, task: '' });
}

/** The requests of a conversation as the ledger has them, in their order. @throws StoreUnavailable */
export async function turnsFrom(
  { ledger }: PageParts,
  conversationId: string,
  after: string | undefined,
): Promise<{ readonly turns: readonly LedgerTurn[]; readonly more: boolean }> {
  const limit = TURNS_OF_A_PAGE;
  const found = await ledger.turns({ conversationId, limit: limit + 1, after });
  return { turns: found.slice(0, limit), more: found.length > limit };
}

/** How large and how old the store is. @throws StoreUnavailable */
export async function storeView({ store, limits, clock }: PageParts): Promise<StoreShown> {
  const [stats, ages] = await Promise.all([store.stats(), store.records.ages()]);
  const { maxBytes, ttlS, place } = limits;
  return { ...stats, ...ages, maxBytes, ttlS, place, nowMs: clock.nowMs() };
}

/** Originals that are kept, the newest first. @throws StoreUnavailable */
export async function prunesFrom({ store }: PageParts, before: number | undefined): Promise<PrunePage> {
  const limit = PRUNES_OF_A_PAGE;
  const found = await store.records.prunesByAge({ limit: limit + 1, before });
  const prunes = found.slice(0, limit);
  return { prunes, next: found.length > limit ? (prunes.at(-1)?.row ?? null) : null };
}
