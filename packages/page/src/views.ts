import type { readThreshold } from '@mcp-pruner/money/compactions.ts';
import type { Finding } from 'mcp-pruner/app/finding.ts';
import type { PageAccess } from 'mcp-pruner/app/page/access.ts';
import { type Answer, name } from 'mcp-pruner/app/page/answers.ts';
import type { FailureReporter } from 'mcp-pruner/base/failures.ts';
import type { Pruner } from 'mcp-pruner/core/calls/api.ts';
import type { BrowseStore } from 'mcp-pruner/core/ports/browse.ts';
import type { ContextActions } from 'mcp-pruner/core/ports/context-gc.ts';
import type { ContextReport, Threshold } from 'mcp-pruner/core/ports/context-report.ts';
import type { LedgerReader, LedgerReport } from 'mcp-pruner/core/ports/ledger-report.ts';
import type { ProjectSettingsStore } from 'mcp-pruner/core/ports/project-settings.ts';
import type { RecallSearch } from 'mcp-pruner/core/ports/recall.ts';
import type { Records } from 'mcp-pruner/core/ports/records.ts';
import type { SegmentStore } from 'mcp-pruner/core/ports/segments.ts';
import type { Clock, Store } from 'mcp-pruner/core/ports.ts';
import { alarmWords, type SavingAlarm } from 'mcp-pruner/core/saving-alarm.ts';
import { z } from 'zod';
import { firstLine } from './conversations.ts';
import type { ContextsShown, LinesShown, PrunePage, SentAs, SettingShown, StoreShown } from './shapes.ts';

const DAY_MS = 24 * 60 * 60 * 1000;
const PRUNES_OF_A_PAGE = 50;
const MOST_LINES = 200;

/** A number of days. */
export const span = z.coerce.number().int().min(1).max(366);

/** Costs of the last days, and the effect of pruning. @throws StoreUnavailable */
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

const MEASURES = {
  dollars: ['dollars'],
  tokens: ['fresh', 'write5m', 'write1h', 'read'],
  removed: ['removed'],
  saved: ['saved'],
} as const;
export const linesQuery = z.object({
  days: span,
  project: name.optional(),
  by: z.enum(['project', 'model', 'tool']),
  measure: z.enum(['dollars', 'tokens', 'removed', 'saved']),
});

/** One figure by day and by project, model or tool, largest first. @throws StoreUnavailable */
export async function linesView(
  { store, clock }: PageParts,
  { days, project, by, measure }: z.infer<typeof linesQuery>,
): Promise<LinesShown> {
  const firstMs = clock.nowMs() - (days - 1) * DAY_MS;
  const all = Array.from({ length: days }, (_, i) => new Date(firstMs + i * DAY_MS).toISOString().slice(0, 10));
  const [sinceDay = ''] = all;
  const projects = project === undefined ? undefined : [project];
  const points = await store.browse.series({ sinceDay, projects, by, fields: MEASURES[measure] });
  const at = new Map(all.map((day, i) => [day, i]));
  const lines = new Map<string, number[]>();
  for (const { day, key, value } of points) {
    const values = lines.get(key) ?? all.map(() => 0);
    const i = at.get(day);
    if (i !== undefined) values[i] = (values[i] ?? 0) + value;
    lines.set(key, values);
  }
  const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
  return {
    days: all,
    lines: Array.from(lines, ([key, values]) => ({ key, values, total: sum(values) }))
      .filter(({ total }) => total !== 0)
      .sort((a, b) => b.total - a.total)
      .slice(0, MOST_LINES),
  };
}

/** Recent compactions, costs of pauses, results put aside, and reported prefix breaks. @throws StoreUnavailable */
export async function contextsView(
  { contexts, ledger, clock }: PageParts,
  days: number,
  project: string | undefined,
): Promise<ContextsShown> {
  const sinceDay = new Date(clock.nowMs() - (days - 1) * DAY_MS).toISOString().slice(0, 10);
  const query = { sinceDay, project };
  const [report, cold, breaks] = await Promise.all([
    contexts(query),
    ledger.coldStash(query),
    ledger.prefixBreaks(query),
  ]);
  return { ...report, ...cold, prefix_breaks: breaks };
}

/** Size and age of the store. @throws StoreUnavailable */
export async function storeView({ store, limits, clock }: PageParts): Promise<StoreShown> {
  const [stats, ages] = await Promise.all([store.stats(), store.records.ages()]);
  const { maxBytes, ttlS, place } = limits;
  return { ...stats, ...ages, maxBytes, ttlS, place, nowMs: clock.nowMs() };
}

/** Stored originals, newest first. @throws StoreUnavailable */
export async function prunesFrom({ store }: PageParts, before: number | undefined): Promise<PrunePage> {
  const limit = PRUNES_OF_A_PAGE;
  const found = await store.records.prunesByAge({ limit: limit + 1, before });
  const listed = found.slice(0, limit);
  const asked = await store.browse.asked(listed.map(({ pruneId }) => pruneId));
  const prunes = listed.map((prune) => ({ ...prune, asked: firstLine(asked.get(prune.pruneId)) }));
  return { prunes, next: found.length > limit ? (prunes.at(-1)?.row ?? null) : null };
}

export interface PageParts {
  readonly access: PageAccess;
  readonly version: string;
  readonly clock: Clock;
  readonly store: Store & {
    readonly segments: SegmentStore;
    readonly records: Records;
    readonly browse: BrowseStore;
    readonly projectSettings: Pick<ProjectSettingsStore, 'current' | 'history'>;
  };
  readonly flush: () => Promise<void>;
  /** Calls the listener when this process has written events. The returned function unsubscribes. */
  readonly onWritten: (listener: () => void) => () => void;
  readonly pruner: Pick<Pruner, 'recover'>;
  readonly contextGc: ContextActions;
  readonly ledger: LedgerReader;
  /** The active no-savings alarm, or `null`. */
  readonly savingAlarm: () => SavingAlarm | null;
  /** Compactions and pauses since a day. May reject with `StoreUnavailable`. */
  readonly contexts: (query: { readonly sinceDay: string; readonly project?: string }) => Promise<ContextReport>;
  /** Length at which a client compacts; `null` if unknown. May reject with `StoreUnavailable`. */
  readonly threshold: (of: Parameters<typeof readThreshold>[1]) => Promise<Threshold | null>;
  readonly recall: RecallSearch;
  /** Default project for searches. */
  readonly project: string;
  /** Whether the first words of conversations are stored. */
  readonly keepsTitles: boolean;
  readonly health: () => object;
  readonly settings: () => readonly SettingShown[];
  readonly warnings: readonly string[];
  readonly limits: { readonly maxBytes: number; readonly ttlS: number; readonly place: string };
  readonly sent: SentAs;
  /** Runs the `mcp-pruner doctor` checks; `null` if unavailable. */
  readonly doctor: (() => Promise<readonly Finding[]>) | null;
  /** Readings of optional parts; `null` for disabled parts. */
  readonly partReadings: Readonly<Record<string, Answer | null>>;
  /** Actions of enabled optional parts. */
  readonly partActions: Readonly<Record<string, Answer>>;
  readonly stopping: AbortSignal;
  readonly onFailure: FailureReporter;
}
