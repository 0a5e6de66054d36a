import type { FailureReporter } from 'mcp-pruner/base/failures.ts';
import type { Directive, OverTokenBudget, SegmentStore } from 'mcp-pruner/core/ports/segments.ts';
import type { Clock, EventRecord, Store } from 'mcp-pruner/core/ports.ts';

/** Dependencies for recording and reporting steps. */
export interface StepOptions {
  readonly store: SegmentStore;
  readonly events: Pick<Store, 'addEvents'>;
  readonly clock: Clock;
  readonly onStep: (step: TakenStep) => void;
  readonly onFailure: FailureReporter;
}

/** A step, as logged. */
export interface TakenStep {
  readonly requestId: string;
  readonly project: string;
  readonly conversationId: string;
  /** Reason for the step: budget exceeded, the step pays, or the provider's cache was cold. */
  readonly by: 'budget' | 'payoff' | 'cold';
  /** Why the cache was cold. */
  readonly why?: string;
  readonly segments: number;
  readonly tokensBefore: number;
  readonly tokensAfter: number;
}

/** A segment to stash. */
export interface SetAside {
  readonly id: string;
  /** Index of the last message in which the segment is pruned. */
  readonly upTo: number;
}

/**
 * Stashes segments for all requests with the same beginning; durable once resolved.
 *
 * @param tokensAfter - size of the request without these segments
 * @throws StoreUnavailable
 */
export async function takeStep(
  { store, events, clock, onStep, onFailure }: StepOptions,
  { by, why }: Pick<TakenStep, 'by' | 'why'>,
  { scope: { project, requestId }, request: { conversationId }, tokens, step }: OverTokenBudget,
  chosen: readonly SetAside[],
  tokensAfter: number,
): Promise<void> {
  const set = chosen.map(
    ({ id, upTo }): Directive => ({
      segment: id,
      action: by === 'cold' ? 'aside' : 'stash',
      scope: step.scope,
      upTo: Math.min(upTo, step.messages),
    }),
  );
  await store.change({ project, set, clear: [], step });
  const reason = { by, ...(why !== undefined && { why }) };
  onStep({ requestId, project, conversationId, ...reason, segments: chosen.length, tokensBefore: tokens, tokensAfter });
  const about = { tsMs: clock.nowMs(), kind: 'stashed', runId: conversationId, opId: requestId || null };
  const event = segmentsEvent(about, { project, ...reason }, chosen, {
    tokens_before: tokens,
    tokens_after: tokensAfter,
  });
  await events.addEvents([event]).catch((cause: unknown) => onFailure('event_not_kept', cause));
}

/** Maximum number of segments listed in an event. */
const MOST_NAMED = 100;

/**
 * The event of a change to segments.
 *
 * @param by - the initiator or the reason
 * @param tokens - token counts, by payload field
 */
export function segmentsEvent(
  event: Pick<EventRecord, 'tsMs' | 'kind' | 'runId' | 'opId'>,
  by: { readonly project: string; readonly by: string; readonly why?: string },
  segments: readonly { readonly id: string }[],
  tokens: Readonly<Record<string, number>>,
): EventRecord {
  const named = segments.slice(0, MOST_NAMED).map(({ id }) => id);
  return { ...event, level: 'info', payload: { ...by, segments: segments.length, segment_ids: named, ...tokens } };
}
