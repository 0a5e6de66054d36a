import type { LedgerStore } from '../core/ports/ledger-store.ts';
import type { PrefixBreakReport } from '../core/ports/prefix-breaks.ts';

/** What providers reported since a day. @throws StoreUnavailable */
export async function readPrefixBreaks(
  store: Pick<LedgerStore, 'sums'>,
  { sinceDay, project }: { readonly sinceDay: string; readonly project?: string | undefined },
): Promise<PrefixBreakReport> {
  const sums = await store.sums({ sinceDay, slice: 'prefix', ...(project !== undefined && { project }) });
  const models = new Map<string, { requests: number; reported: number }>();
  const conversations = new Map<string, number>();
  for (const { key, field, value } of sums) {
    const [kind = '', name = ''] = partsOf(key);
    if (kind === 'conversation') conversations.set(name, (conversations.get(name) ?? 0) + value);
    if (kind !== 'model' || (field !== 'requests' && field !== 'reported')) continue;
    const counts = models.get(name) ?? { requests: 0, reported: 0 };
    counts[field] += value;
    models.set(name, counts);
  }
  const all = [...models.values()];
  return {
    reported: all.reduce((sum, { reported }) => sum + reported, 0),
    requests: all.reduce((sum, { requests }) => sum + requests, 0),
    models: [...models]
      .map(([model, { reported, requests }]) => ({ model, reported, requests }))
      .toSorted((a, b) => b.reported - a.reported || b.requests - a.requests),
    conversations: [...conversations]
      .map(([id, reported]) => ({ id, reported }))
      .toSorted((a, b) => b.reported - a.reported),
  };
}

/** Splits a key at its first tab. Undoes `prefixKeyOf`. */
function partsOf(key: string): readonly [kind: string, name: string] {
  const at = key.indexOf('\t');
  return [key.slice(0, at), key.slice(at + 1)];
}
