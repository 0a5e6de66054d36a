import type { ChildRecord, FleetStore } from '../core/ports/fleet.ts';
import type { UsageTotal } from '../core/ports.ts';
import type { PageParts } from './parts.ts';
import type {
  ChildLogShown,
  ChildShown,
  FleetShown,
  NamedSums,
  Overview,
  PrunePage,
  StoreShown,
  Sums,
} from './shapes.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const MOST_NAMED = 12;
const PRUNES_OF_A_PAGE = 50;
const MOST_CHILDREN = 200;
const MOST_LISTED = 50;
const MOST_LOG_LINES = 500;

/** Totals of the last days. @throws StoreUnavailable */
export async function overview({ store, clock }: PageParts, days: number): Promise<Overview> {
  const nowMs = clock.nowMs();
  const dayOf = (back: number): string => new Date(nowMs - back * DAY_MS).toISOString().slice(0, 10);
  const totals = await store.usage(dayOf(days - 1));
  const byDay = summed(totals, ({ day }) => day);
  return {
    days: Array.from({ length: days }, (_, i) => {
      const day = dayOf(days - 1 - i);
      return { day, ...(byDay.get(day) ?? NOTHING) };
    }),
    all: totals.reduce<Sums>(plus, NOTHING),
    models: named(summed(totals, ({ model }) => model)),
    tools: named(summed(totals, ({ tool }) => tool)),
  };
}

const NOTHING: Sums = { requests: 0, candidates: 0, pruned: 0, tokensBefore: 0, tokensAfter: 0 };

function plus(a: Sums, b: Sums): Sums {
  return {
    requests: a.requests + b.requests,
    candidates: a.candidates + b.candidates,
    pruned: a.pruned + b.pruned,
    tokensBefore: a.tokensBefore + b.tokensBefore,
    tokensAfter: a.tokensAfter + b.tokensAfter,
  };
}

function summed(totals: readonly UsageTotal[], by: (total: UsageTotal) => string): Map<string, Sums> {
  const sums = new Map<string, Sums>();
  for (const total of totals) sums.set(by(total), plus(sums.get(by(total)) ?? NOTHING, total));
  return sums;
}

/** Those that saved most first. */
function named(sums: ReadonlyMap<string, Sums>): NamedSums[] {
  const saved = ({ tokensBefore, tokensAfter }: Sums): number => tokensBefore - tokensAfter;
  return [...sums]
    .filter(([name]) => name !== '')
    .map(([name, sum]) => ({ name, ...sum }))
    .sort((a, b) => saved(b) - saved(a) || b.requests - a.requests)
    .slice(0, MOST_NAMED);
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
  const found = await store.records.prunesByAge({ limit: limit + 1, ...(before !== undefined && { before }) });
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
