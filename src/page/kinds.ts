import { setImmediate as pause } from 'node:timers/promises';
import type { Store, StoredEvent } from '../core/ports.ts';
import type { KindShown, KindsShown } from './shapes.ts';

/** How far back is looked, and how much of it at a time: requests get their turn in between. */
const MOST_EVENTS = 20_000;
const STEP = 500;
const MOST_LOOKED_UP = 500;

interface Counts {
  readonly tool: string;
  readonly kind: string;
  texts: number;
  cut: number;
  tokensBefore: number;
  tokensCut: number;
  recovered: number;
  readonly whole: Map<string, number>;
}

/**
 * What became of texts by tool and kind, each text counted once, when it was new; and how often lines of them were
 * wanted back. By the newest events.
 *
 * @throws StoreUnavailable
 */
export async function kindsOf(store: Pick<Store, 'events' | 'findPrune'>, lastSeq: number): Promise<KindsShown> {
  const sums = new Map<string, Counts>();
  const placeOf = new Map<string, Counts>();
  const recovered: string[] = [];
  let fromMs: number | null = null;
  let events = 0;
  for (let end = lastSeq + 1; end > 1 && events < MOST_EVENTS; end -= STEP) {
    const from = Math.max(1, end - STEP);
    const found = (await store.events({ fromSeq: from, limit: end - from })).filter(({ seq }) => seq < end);
    if (found.length === 0) break; // what was before is no longer kept
    fromMs = found[0]?.tsMs ?? fromMs;
    events += found.length;
    countTexts(found, sums, placeOf);
    for (const { kind, payload } of found) {
      if (kind === 'recovered' && typeof payload.prune_id === 'string') recovered.push(payload.prune_id);
    }
    await pause();
  }
  await countRecovered(store, recovered, sums, placeOf);
  const kinds = [...sums.values()].sort((a, b) => b.tokensCut - a.tokensCut || b.texts - a.texts).map(shown);
  return { kinds, events, fromMs };
}

/** An event of a text that stayed whole does not say its kind; the one before it, of the same text, does. */
function countTexts(events: readonly StoredEvent[], sums: Map<string, Counts>, placeOf: Map<string, Counts>): void {
  let kindBefore = '';
  for (const { kind, payload } of events) {
    if (kind === 'candidate') kindBefore = words(payload.kind);
    if (kind !== 'pruned' && kind !== 'left_whole') continue;
    const place = placeFor(sums, words(payload.tool), kind === 'pruned' ? words(payload.kind) : kindBefore);
    place.texts++;
    place.tokensBefore += amount(payload.tokens_before);
    if (kind === 'pruned') {
      place.cut++;
      place.tokensCut += amount(payload.tokens_before) - amount(payload.tokens_after);
      placeOf.set(words(payload.prune_id), place);
    } else {
      const reason = words(payload.reason);
      place.whole.set(reason, (place.whole.get(reason) ?? 0) + 1);
    }
  }
}

async function countRecovered(
  store: Pick<Store, 'findPrune'>,
  pruneIds: readonly string[],
  sums: Map<string, Counts>,
  placeOf: Map<string, Counts>,
): Promise<void> {
  let lookedUp = 0;
  for (const pruneId of pruneIds) {
    const known = placeOf.get(pruneId);
    if (known === undefined && lookedUp++ >= MOST_LOOKED_UP) continue;
    const decision = known === undefined ? (await store.findPrune(pruneId))?.decision : undefined;
    const place = known ?? (decision && placeFor(sums, decision.tool, decision.kind));
    if (!place) continue;
    placeOf.set(pruneId, place);
    place.recovered++;
  }
}

function placeFor(sums: Map<string, Counts>, tool: string, kind: string): Counts {
  const key = JSON.stringify([tool, kind]);
  const known = sums.get(key);
  if (known) return known;
  const place = { tool, kind, texts: 0, cut: 0, tokensBefore: 0, tokensCut: 0, recovered: 0, whole: new Map() };
  sums.set(key, place);
  return place;
}

function shown({ whole, ...counts }: Counts): KindShown {
  const [most] = [...whole].sort(([, a], [, b]) => b - a);
  return { ...counts, whole: most?.[0] ?? '' };
}

function words(value: unknown): string {
  return typeof value === 'string' ? value.slice(0, 300) : '';
}

function amount(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) ? value : 0;
}
