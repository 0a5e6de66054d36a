import type { ChildRecord, FleetStore } from '../core/ports/fleet.ts';
import type { LedgerReport, LedgerTurn } from '../core/ports/ledger.ts';
import { MOST_HITS, type RecallAnswer } from '../core/recall/recall.ts';
import { alarmWords } from '../core/saving-alarm.ts';
import type { ContextReport } from '../ledger/compactions.ts';
import type { PageParts } from './parts.ts';
import type { ChildLogShown, ChildShown, FleetShown, PrunePage, StoreShown } from './shapes.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const TURNS_OF_A_PAGE = 100;
const PRUNES_OF_A_PAGE = 50;
const MOST_CHILDREN = 200;
const MOST_LISTED = 50;
const MOST_LOG_LINES = 500;

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

/** Children, graphs and namespaces of the fleet, the newest first. @throws StoreUnavailable */
export async function fleetView(fleet: FleetStore): Promise<FleetShown> {
  const all = { prefix: '', limit: MOST_LISTED };
  const [children, graphs, namespaces, plans] = await Promise.all([
    fleet.children.list({ limit: MOST_CHILDREN }),
    fleet.graphs.heads(all),
    fleet.board.namespaces(all),
    fleet.plans.open(),
  ]);
  return {
    children: children.map(childOf),
    graphs,
    namespaces,
    plans: plans
      .slice(0, MOST_LISTED)
      .map(({ runId, mode, state, progress, startedMs }) => ({ runId, mode, state, progress, startedMs })),
  };
}

/** Without its environment, its folder and its token. */
function childOf({
  childId,
  state,
  agent,
  command,
  role,
  createdMs,
  endedMs,
  stopReason,
  exitCode,
  usage,
}: ChildRecord): ChildShown {
  const { messages, tokensIn, tokensOut } = usage;
  const what = agent ?? command ?? '';
  return { childId, state, what, role, createdMs, endedMs, stopReason, exitCode, messages, tokensIn, tokensOut };
}

/** The last lines of a child. @throws StoreUnavailable */
export async function childLog({ store }: PageParts, childId: string): Promise<ChildLogShown> {
  const last = await store.records.lastSeqOfChild(childId);
  // numbers are shared by all children: further back there may be more of this one, but these are the last for certain
  const entries = await store.records.childLogs({ childId, fromSeq: Math.max(0, last - 10_000), limit: 10_000 });
  return {
    lines: entries
      .slice(-MOST_LOG_LINES)
      .map(({ seq, tsMs, stream, message }) => ({ seq, atMs: tsMs, stream, text: message.slice(0, 2_000) })),
  };
}
