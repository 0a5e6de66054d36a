import type { Services } from 'mcp-pruner/app/compose.ts';
import type { KeyStore } from 'mcp-pruner/core/ports/keys.ts';
import { shown } from '../key-input.ts';
import type { KeysShown } from './page-shapes.ts';

const LISTED = 500;
const DAYS_MS = 29 * 86_400_000;

/** The first keys of the store, with spend and remaining limits. @throws StoreUnavailable */
export async function keysOnPage({ clock, ledgerView }: Services, keys: KeyStore): Promise<KeysShown> {
  const nowMs = clock.nowMs();
  const listed = await keys.list({ limit: LISTED + 1 });
  const page = listed.slice(0, LISTED);
  const sinceDay = new Date(nowMs - DAYS_MS).toISOString().slice(0, 10);
  const known = { all: async () => page, counted: () => keys.counted() };
  const rows = await ledgerView.spend(known, { by: 'key', sinceDay });
  const spent = new Map(rows.map((row) => [row.name, row]));
  const all = page.map((key) => {
    const { requests = 0, dollars = 0, key: facts } = spent.get(key.id) ?? {};
    const { dollarsThisMonth = 0, tokensToday = 0 } = facts ?? {};
    return { ...shown(key, nowMs), requests, dollars, dollarsThisMonth, tokensToday };
  });
  return { keys: all.sort((a, b) => b.dollars - a.dollars), hasMore: listed.length > LISTED };
}
