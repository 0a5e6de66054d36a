import picomatch from 'picomatch';
import type { Settings } from '../config/settings.ts';
import type { Decider } from '../core/decider.ts';
import { DecisionMaker } from '../core/decision-maker.ts';
import type { KeptAnswers } from '../core/ports/answers.ts';
import type { SegmentPorts } from '../core/ports/segments.ts';
import type { Clock, LineScorer, Store } from '../core/ports.ts';
import type { RefusedConversations } from '../core/refused-conversations.ts';
import { RequestRewriter } from '../core/rewrite-request.ts';

/** Of the memory for what was decided, for single texts; the rest is for whole bodies. The store has both. */
const DECISIONS_SHARE = 1 / 32;

export interface RewriterParts {
  readonly store: Store;
  readonly clock: Clock;
  readonly refused: RefusedConversations;
  readonly onFailure: (reason: string, cause: unknown) => void;
  readonly scorer?: LineScorer;
  readonly decider?: Decider;
  readonly segments?: SegmentPorts;
  readonly answers?: KeptAnswers;
}

/** The pipeline of a request as the settings ask for it. */
export function rewriterOf(settings: Settings, parts: RewriterParts): RequestRewriter {
  const { store, clock, refused, onFailure, scorer, decider, segments, answers } = parts;
  const decisionBytes = Math.floor(settings.memoMaxBytes * DECISIONS_SHARE);
  const decisions = new DecisionMaker({
    store,
    clock,
    ttlMs: settings.pruneIdTtlS * 1000,
    timeoutMs: settings.timeoutMs,
    memoBytes: decisionBytes,
    ...(scorer && { scorer }),
    ...(decider && { decider }),
  });
  return new RequestRewriter({
    store,
    clock,
    decisions,
    refused,
    onFailure,
    find: {
      minPruneChars: settings.minPruneChars,
      maxInputChars: settings.maxInputChars,
      limits: { maxPruneRatio: settings.maxPruneRatio, minKeepLines: settings.minKeepLines },
      reasonLanguage: settings.reasonLanguage,
      neverPruneTool: globs(settings.neverPruneTools),
      neverPrunePath: globs(settings.neverPrunePaths),
    },
    render: { annotateLines: settings.annotateLines, includeMarkers: settings.includeMarkers },
    memoBytes: settings.memoMaxBytes - decisionBytes,
    ...(segments && { segments }),
    ...(answers && { answers }),
  });
}

function globs(patterns: readonly string[]): (name: string) => boolean {
  return patterns.length === 0 ? () => false : picomatch([...patterns], { dot: true, basename: false });
}
