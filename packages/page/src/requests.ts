import type { RequestCost } from 'mcp-pruner/core/ports/browse.ts';
import type { Store, StoredEvent } from 'mcp-pruner/core/ports.ts';
import type { NoteShown, RequestPage, RequestShown, RequestsAndNotes, TextShown } from './shapes.ts';

/** Maximum number of texts shown per request; a long conversation's newest request may have hundreds. */
const MOST_TEXTS = 30;
/** Events shown with their request. */
const OF_A_REQUEST = new Set(['candidate', 'pruned', 'left_whole', 'fallback', 'client_failed', 'upstream_failed']);
const MOST_FACTS = 8;

/**
 * Groups events into requests, in the order of their first events. Events of requests that began earlier are skipped.
 */
export function groupByRequest(events: readonly StoredEvent[]): RequestsAndNotes {
  const groups = new Map<string, StoredEvent[]>();
  const notes: NoteShown[] = [];
  for (const event of events) {
    if (event.kind === 'request') groups.set(event.opId ?? String(event.seq), [event]);
    else if (event.opId !== null && OF_A_REQUEST.has(event.kind)) groups.get(event.opId)?.push(event);
    else notes.push(noteOf(event));
  }
  return { requests: [...groups.values()].flatMap(requestOf), notes };
}

function requestOf([first, ...rest]: readonly StoredEvent[]): RequestShown[] {
  if (!first) return [];
  const { seq, tsMs, runId, opId, payload } = first;
  const textEvents = rest.filter(({ kind }) => kind === 'pruned' || kind === 'left_whole');
  // cuts first, because users look for them
  const texts = [
    ...textEvents.filter(({ kind }) => kind === 'pruned'),
    ...textEvents.filter(({ kind }) => kind !== 'pruned'),
  ];
  return [
    {
      ...{ seq, atMs: tsMs, conversation: runId, requestId: opId ?? '' },
      ...{ wire: stringOf(payload.wire), model: stringOf(payload.model), end: stringOf(payload.end) },
      ...{ project: stringOf(payload.project), client: stringOf(payload.client), dollars: null },
      messages: amount(payload.messages),
      tokensSaved: amount(payload.tokens_saved),
      status: amount(payload.status),
      totalMs: amount(payload.total_ms),
      shadow: payload.shadow === true,
      upstreamError: typeof payload.upstream_error === 'string' ? payload.upstream_error : null,
      fallbacks: rest.filter(({ kind }) => kind === 'fallback').map(({ payload: { reason } }) => stringOf(reason)),
      texts: texts.slice(0, MOST_TEXTS).map(textOf),
      more: Math.max(0, texts.length - MOST_TEXTS),
      leftWhole: countsOf(payload.left_whole),
    },
  ];
}

function textOf({ payload }: StoredEvent): TextShown {
  return {
    pruneId: typeof payload.prune_id === 'string' ? payload.prune_id : null,
    ...{ whole: stringOf(payload.reason), tool: stringOf(payload.tool), kind: stringOf(payload.kind) },
    ...{ lines: amount(payload.lines), keptLines: amount(payload.kept_lines) },
    ...{ tokensBefore: amount(payload.tokens_before), tokensAfter: amount(payload.tokens_after) },
  };
}

function noteOf({ seq, tsMs, kind, level, runId, payload }: StoredEvent): NoteShown {
  const facts = Object.entries(payload).filter(
    (fact): fact is [string, string | number] => typeof fact[1] === 'string' || typeof fact[1] === 'number',
  );
  return { seq, atMs: tsMs, kind, level, conversation: runId, facts: Object.fromEntries(facts.slice(0, MOST_FACTS)) };
}

function countsOf(value: unknown): Record<string, number> {
  const entries = typeof value === 'object' && value !== null ? Object.entries(value) : [];
  return Object.fromEntries(entries.map(([name, count]) => [name, amount(count)]));
}

function stringOf(value: unknown): string {
  return typeof value === 'string' ? value.slice(0, 300) : '';
}

function amount(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) ? value : 0;
}

/** Adds the bill to a request. In shadow mode nothing was cut, so the estimate stays. */
export function withCost(request: RequestShown, cost: RequestCost | undefined): RequestShown {
  if (cost === undefined) return request;
  const { dollars, cut } = cost;
  return { ...request, dollars, ...(!request.shadow && request.tokensSaved > 0 && cut > 0 && { tokensSaved: cut }) };
}

/** Filter of listed requests; absent fields do not filter. */
export interface RequestFilters {
  readonly project?: string | undefined;
  readonly client?: string | undefined;
  readonly model?: string | undefined;
  /** `cut`: with new cuts. `fault`: with an error, a fallback, or an unfinished answer. */
  readonly only?: 'cut' | 'fault' | undefined;
}

/** Whether a request matches the filter. The page uses this for incoming requests. */
export function fits(request: RequestShown, { project, client, model, only }: RequestFilters): boolean {
  if (project !== undefined && request.project !== project) return false;
  if (client !== undefined && request.client !== client) return false;
  if (model !== undefined && request.model !== model) return false;
  if (only === 'cut') return request.texts.some(({ pruneId }) => pruneId !== null);
  return only !== 'fault' || isFaulty(request);
}

function isFaulty({ status, upstreamError, fallbacks, end }: RequestShown): boolean {
  const isCutOff = end !== 'answered' && end !== '';
  return status >= 400 || upstreamError !== null || fallbacks.length > 0 || isCutOff;
}

/** Number of events read per step back. */
const STEP = 500;
/** Maximum number of steps per page, so that a filter with few matches does not read the whole history. */
const MOST_STEPS = 20;

/**
 * Requests that began before an event, newest first, about `limit` of them. Reads only the events it examines.
 *
 * @throws StoreUnavailable
 */
export async function requestsBefore(
  store: Pick<Store, 'events'>,
  before: number,
  limit: number,
  filters: RequestFilters = {},
): Promise<RequestPage> {
  const found: RequestShown[] = [];
  let end = before;
  for (let steps = 0; steps < MOST_STEPS && end > 1; steps++) {
    const from = Math.max(1, end - STEP);
    const events = await store.events({ fromSeq: from, limit: end - from });
    const within = events.filter(({ seq }) => seq < end);
    const all = [...groupByRequest(within).requests].reverse();
    const newest = all.filter((request) => fits(request, filters));
    const isFull = found.length + newest.length >= limit;
    found.push(...newest.slice(0, limit - found.length));
    // leading events belong to an earlier request, and are read again together with it
    end = isFull ? (found.at(-1)?.seq ?? from) : (all.at(-1)?.seq ?? from);
    if (isFull) return { requests: found, next: end > 1 ? end : null };
    if (within.length === 0) return { requests: found, next: null }; // earlier events have been deleted
  }
  return { requests: found, next: end > 1 ? end : null };
}
