import type { MissCause } from 'mcp-pruner/core/ports/ledger.ts';
import type { LedgerStore } from 'mcp-pruner/core/ports/ledger-store.ts';
import type { PrefixBreak, PrefixBreakReport } from 'mcp-pruner/core/ports/prefix-breaks.ts';

const MAX_LISTED = 20;

/** Provider reports since a day. @throws StoreUnavailable */
export async function readPrefixBreaks(
  store: LedgerStore,
  { sinceDay, project }: { readonly sinceDay: string; readonly project?: string | undefined },
): Promise<PrefixBreakReport> {
  const sums = await store.sums({ sinceDay, slice: 'prefix', ...(project !== undefined && { project }) });
  const models = new Map<string, { requests: number; reported: number }>();
  const conversations = new Map<string, number>();
  const breaks: (PrefixBreak & { readonly day: string })[] = [];
  for (const { day, key, field, value } of sums) {
    const [kind = '', name = '', conversation = '', cause = 'unknown', at = '-1'] = key.split('\t');
    if (kind === 'conversation') conversations.set(name, (conversations.get(name) ?? 0) + value);
    if (kind === 'request') {
      const changed = changedWords(cause as MissCause, Number(at));
      breaks.push({ day, request_id: name, conversation, changed });
    }
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
    breaks: breaks
      .toSorted((a, b) => (a.day < b.day ? 1 : a.day > b.day ? -1 : 0))
      .slice(0, MAX_LISTED)
      .map(({ day: _day, ...rest }) => rest),
  };
}

/** @param at - index of the changed message; -1 if unknown */
function changedWords(cause: MissCause, at: number): string {
  const message = at < 0 ? 'a message' : `message ${at}`;
  if (cause === 'changed_by_us') return `${at < 0 ? 'the tools' : message} went out with other cuts than before`;
  if (cause === 'message_changed') return `the client changed ${message}`;
  if (cause === 'tools_changed') return 'the client changed its tools';
  if (cause === 'system_changed') return 'the client changed its system prompt';
  if (cause === 'model_changed') return 'another model was asked';
  const isKnown = cause === 'expired' || cause === 'unknown';
  return isKnown ? 'nothing that this proxy knows of' : 'the request before it is not known';
}
