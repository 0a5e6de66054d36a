import { join } from 'node:path';
import type { BulkPruner, Pruner } from '../../src/core/calls/api.ts';
import { createPruner, type PrunerOptions } from '../../src/core/calls/prune-text.ts';
import { DecisionCache } from '../../src/core/decide/decision-cache.ts';
import type { Decider } from '../../src/core/decide/decision-maker.ts';
import { DecisionMaker } from '../../src/core/decide/decision-maker.ts';
import type { Ownership } from '../../src/core/ownership.ts';
import type { DirectivesView, RequestScope } from '../../src/core/ports/segments.ts';
import type { Clock, Store } from '../../src/core/ports.ts';
import { RequestPipeline } from '../../src/core/request/pipeline.ts';
import type { PipelineOptions } from '../../src/core/request/pipeline-options.ts';
import { always, type Policy, PRUNE } from '../../src/core/request/policy.ts';
import { RefusedConversations } from '../../src/core/request/provider-verdicts.ts';
import { NO_SCOPE } from '../../src/core/request/request.ts';
import type { RewrittenRequest } from '../../src/core/request/rewritten.ts';
import { lineAt, splitLines } from '../../src/engine/text/lines.ts';
import { parseMarker } from '../../src/engine/text/marker.ts';
import { renderRanges } from '../../src/engine/text/render.ts';
import type { Limits } from '../../src/engine/types.ts';
import { openSqliteStore, type SqliteStore } from '../../src/store/sqlite.ts';
import { openaiChat } from '../../src/wires/dialects/openai-chat/dialect.ts';
import { afterwards, tempFolder } from './afterwards.ts';
import { makeStore } from './new-store.ts';

export const TTL_MS = 80_000;

/** A clock that stands still until it is set. */
export function manualClock(now = 1_700_000_000_000): Clock & { now: number } {
  return {
    now,
    nowMs() {
      return this.now;
    },
  };
}

/** A store on a file, by default an empty one, that is closed with the test. */
export function openStore(
  path = join(tempFolder(), 'store.db'),
  clock: Clock = manualClock(),
  ttlMs = TTL_MS,
): SqliteStore {
  if (path !== ':memory:') makeStore(path);
  const store = openSqliteStore({ path, clock, ttlMs, maxBytes: 1e9, maxEvents: 1_000 });
  afterwards(() => store.close());
  return store;
}

export interface RewriterParts {
  readonly store?: Store;
  readonly ownRecords?: PipelineOptions['ownRecords'];
  readonly shortTools?: PipelineOptions['shortTools'];
  readonly clock?: Clock;
  readonly minPruneChars?: number;
  readonly minOutputChars?: number;
  readonly repeats?: boolean;
  readonly annotateLines?: boolean;
  readonly refused?: RefusedConversations;
  readonly neverPruneTool?: (name: string) => boolean;
  readonly neverPrunePath?: (path: string) => boolean;
  readonly maxInputChars?: number;
  readonly reasonLanguage?: 'fr' | 'en';
  readonly onFailure?: (reason: string) => void;
  /** As in `Policy`: `re-prune` cuts a conversation that comes at once as if it had grown. */
  readonly history?: Policy['history'];
  readonly limits?: Limits;
  readonly timeoutMs?: number;
  readonly decider?: Decider;
  readonly includeMarkers?: boolean;
  readonly shortMarkers?: boolean;
  readonly isHeldOut?: (conversationId: string) => boolean;
  readonly owners?: Ownership;
  /** The directives of all projects. */
  readonly directives?: () => DirectivesView;
}

/** A pipeline for bodies of chat completions. */
export interface ChatRewriter {
  rewrite(body: Buffer, scope?: RequestScope): Promise<RewrittenRequest>;
  rewriteDry(body: Buffer): Promise<RewrittenRequest>;
}

/** As `openPipeline`, for bodies of chat completions alone. */
export function openRewriter(parts: RewriterParts = {}): ChatRewriter {
  const pipeline = openPipeline(parts);
  const { history = 'replay' } = parts;
  return {
    rewrite: async (body, scope) =>
      pipeline.rewrite({ body, dialect: openaiChat, scope }, always({ ...PRUNE, history })),
    rewriteDry: (body) => pipeline.rewriteDry({ body, dialect: openaiChat }),
  };
}

/**
 * What the pipelines of these tests do with requests that the lane takes: compare the bytes of both ways, let the lane
 * serve them, or never ask it.
 */
export type LaneMode = 'compared' | 'serves' | 'off';

/** The mode, and how many requests have taken the lane in these tests, or have not. */
export const lane = {
  mode: (process.env.MCP_PRUNER_TEST_LANE ?? 'compared') as LaneMode,
  passed: 0,
  rewritten: 0,
};

class CheckedPipeline extends RequestPipeline {
  override async rewrite(...request: Parameters<RequestPipeline['rewrite']>): Promise<RewrittenRequest> {
    const [incoming, { free, bound } = always(PRUNE)] = request;
    const isUsual = [free, bound].every((policy) => policy.newTexts === 'prune' && policy.history === 'replay');
    const { scope = NO_SCOPE, purpose = 'generate' } = incoming;
    const mayPass = lane.mode !== 'off' && isUsual && purpose === 'generate';
    const passed = mayPass ? this.pass(incoming.body, incoming.dialect, { ...incoming, scope }) : null;
    if (passed === null) lane.rewritten++;
    else lane.passed++;
    if (passed && lane.mode === 'serves') {
      const served = (await this.passed(incoming, passed)).rewritten;
      return served;
    }
    const rewritten = await super.rewrite(...request);
    if (passed && !passed.body.equals(rewritten.body)) throw new Error('the lane would forward other bytes');
    return rewritten;
  }
}

/** The pipeline of a request over a store, with nothing remembered in memory. */
export function openPipeline(parts: RewriterParts = {}): RequestPipeline {
  const clock = parts.clock ?? manualClock();
  const store = parts.store ?? openStore(':memory:', clock);
  const { directives } = parts;
  return new CheckedPipeline({
    store,
    clock,
    decisions: new DecisionMaker({
      decisionCache: decisionCache(store, clock, parts.decider),
      timeoutMs: parts.timeoutMs ?? 10_000,
    }),
    refused: parts.refused ?? new RefusedConversations(store),
    onFailure: (reason) => parts.onFailure?.(reason),
    find: {
      minPruneChars: parts.minPruneChars ?? 1_000,
      ...(parts.minOutputChars !== undefined && { minOutputChars: parts.minOutputChars }),
      maxInputChars: parts.maxInputChars ?? 2_000_000,
      repeats: parts.repeats ?? false,
      limits: parts.limits ?? { maxPruneRatio: 0.9, minKeepLines: 5 },
      ...(parts.reasonLanguage && { reasonLanguage: parts.reasonLanguage }),
      neverPruneTool: parts.neverPruneTool ?? (() => false),
      neverPrunePath: parts.neverPrunePath ?? (() => false),
    },
    render: {
      annotateLines: parts.annotateLines ?? false,
      includeMarkers: parts.includeMarkers ?? true,
      ...(parts.shortMarkers && { shortMarkers: true }),
    },
    memoBytes: 10_000_000,
    ownRecords: parts.ownRecords,
    shortTools: parts.shortTools,
    ...(parts.isHeldOut && { isHeldOut: parts.isHeldOut }),
    ...(parts.owners && { owners: parts.owners }),
    ...(directives && { segments: { directives: { known: directives, view: async () => directives() } } }),
  });
}

/** Decisions over a store, with nothing remembered in memory. */
export function decisionCache(store: Store, clock: Clock = manualClock(), decider?: Decider): DecisionCache {
  return new DecisionCache({ store, clock, ttlMs: TTL_MS, memoBytes: 1_000_000, ...(decider && { decider }) });
}

/** `prune_text` and `recover_text` over a store. */
export function openPruner(store: Store, options: Partial<PrunerOptions> = {}, clock?: Clock): Pruner & BulkPruner {
  return createPruner({
    store,
    decisions: decisionCache(store, clock),
    maxInputChars: 1e6,
    onFailure: () => {},
    ...options,
  });
}

/** Puts the original lines back in the place of every marker, each read from the store. */
export async function restored(text: string, store: Store): Promise<string> {
  const lines = splitLines(text);
  let out = '';
  let pruneId = '';
  for (let line = 1; line <= lines.count; line++) {
    const content = lineAt(lines, line);
    const ending = line < lines.count || text.endsWith('\n') ? '\n' : '';
    const marker = parseMarker(content);
    pruneId = marker?.pruneId || pruneId;
    const original = marker && (await store.findOriginal(pruneId));
    out += marker && original !== null ? renderRanges(splitLines(original), [marker], false) : content;
    out += ending;
  }
  return out;
}

/** How each text that was looked at ended: `cut`, or why it stayed whole. */
export function verdicts({ outcomes }: RewrittenRequest): string[] {
  return outcomes.map(({ pruneId, whole }) => (pruneId === null ? whole : 'cut'));
}
