import { dayOf } from '@mcp-pruner/money/prices.ts';
import type { AccessKey, CountedSpan, KeyStore } from 'mcp-pruner/core/ports/keys.ts';
import type { LedgerReport, LedgerTotals } from 'mcp-pruner/core/ports/ledger-report.ts';
import type { LedgerStore } from 'mcp-pruner/core/ports/ledger-store.ts';
import type { KeyFacts, SpendQuery, SpendRow } from 'mcp-pruner/core/ports/spend.ts';
import { readReport } from './ledger.ts';

const DAY_MS = 86_400_000;

/** Facts about keys beyond the report. */
interface KnownKeys {
  readonly keys: ReadonlyMap<string, AccessKey>;
  readonly counted: readonly CountedSpan[];
  /** Dollars of this month by key. */
  readonly spent: ReadonlyMap<string, number>;
  /** Day number since 1970. */
  readonly today: number;
}

/**
 * The spend of keys, projects, models or days since a day.
 *
 * @param keys - key store, if keys are in use; adds name, limits and last use of each key
 */
export async function readSpend(
  ledger: LedgerStore,
  keys: Pick<KeyStore, 'all' | 'counted'> | null,
  query: SpendQuery,
  nowMs: number,
): Promise<SpendRow[]> {
  const { by, ...of } = query;
  const known = by === 'key' && keys ? await knownKeys(ledger, keys, nowMs) : null;
  return spendRows(await readReport(ledger, of), by, known);
}

async function knownKeys(
  ledger: LedgerStore,
  keys: Pick<KeyStore, 'all' | 'counted'>,
  nowMs: number,
): Promise<KnownKeys> {
  const sinceDay = `${dayOf(nowMs).slice(0, 7)}-01`;
  const [all, counted, days] = await Promise.all([keys.all(), keys.counted(), ledger.spent({ sinceDay })]);
  const spent = new Map<string, number>();
  for (const { of, name, dollars } of days) if (of === 'key') spent.set(name, (spent.get(name) ?? 0) + dollars);
  return { keys: new Map(all.map((key) => [key.id, key])), counted, spent, today: Math.floor(nowMs / DAY_MS) };
}

/** Rows of a report, by dollars descending; days newest first. */
function spendRows(report: LedgerReport, by: SpendQuery['by'], known: KnownKeys | null): SpendRow[] {
  if (by === 'day') return report.days.map((one) => rowOf(one.day, one));
  if (by === 'model') return report.models.map((one) => rowOf(one.model, one));
  if (by === 'project') return report.projects.map((one) => rowOf(one.project, one));
  return report.keys.map((one) => ({ ...rowOf(one.keyId, one), ...(known && { key: factsOf(one.keyId, known) }) }));
}

function rowOf(name: string, totals: LedgerTotals): SpendRow {
  const { requests, unpriced, fresh, write5m, write1h, read, output, dollars, dollarsWithout, gross, removed } = totals;
  return {
    ...{ name, requests, unpriced },
    ...{ inputTokens: fresh + write5m + write1h + read, cachedTokens: read, outputTokens: output },
    ...{ dollars, dollarsWithout, saved: gross, removedTokens: removed },
  };
}

function factsOf(keyId: string, { keys, counted, spent, today }: KnownKeys): KeyFacts {
  const key = keys.get(keyId);
  const used = counted.find((one) => one.keyId === keyId && one.span === 'day' && one.at === today);
  return {
    name: key?.name ?? null,
    projects: key?.projects ?? [],
    tokensPerDay: key?.tokensPerDay ?? null,
    tokensToday: used?.used ?? 0,
    dollarsPerMonth: key?.dollarsPerMonth ?? null,
    dollarsThisMonth: spent.get(keyId) ?? 0,
    lastUsedMs: key?.lastUsedMs ?? null,
  };
}
