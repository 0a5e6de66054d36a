import { splitLines } from '../engine/lines.ts';
import { annotate, renderRanges, renderText } from '../engine/render.ts';
import { estimateTokens } from '../engine/tokens.ts';
import { PrunerError, StoreUnavailable } from '../errors.ts';
import type { Pruner, PruneStats, PruneTextInput, PruneTextResult, RecoverInput } from './api.ts';
import { decide, decisionKey, type Job, wholeDecision } from './decide.ts';
import { keyOf, textHash } from './hash.ts';
import type { Decision, Store } from './ports.ts';

export interface PrunerOptions {
  readonly store: Store;
  /** Texts with more UTF-16 units than this come back whole with `input_too_large`. */
  readonly maxInputChars: number;
  /** Told when a fault was turned into a whole text; `reason` is a short constant code. */
  readonly onFailure: (reason: string, cause: unknown) => void;
}

/** How long a call waits for another writer of the store, in milliseconds. */
const STORE_WAIT_MS = 1_000;

/** What to do about an id that is unknown: the hint of the error's `data`. */
const NOT_FOUND_HINT =
  'Do not retry: this prune_id is unknown or has expired. Read the file again or run the command again to see the lines.';

/**
 * `prune_text` and `recover_text` over the store. A fault of ours never loses the caller's text: it comes back whole
 * with a warning (001 §9).
 */
export function createPruner(options: PrunerOptions): Pruner {
  return {
    pruneText: (input) => pruneText(options, input),
    recover: (input) => recover(options, input),
  };
}

async function pruneText(options: PrunerOptions, input: PruneTextInput): Promise<PruneTextResult> {
  const startedAt = performance.now();
  const job = jobOf(input);
  const { decision, warnings } = await decideDurably(options, input, job, startedAt);
  const annotations = annotate(decision.cuts, decision.pruneId ?? '');
  const lines = splitLines(input.text);
  // With a warning nothing was cut, and the text comes back exactly as it came (001 §9), without line numbers too.
  const whole = warnings.length > 0;
  const { annotateLines, includeMarkers } = input.options;
  const prunedText = whole ? input.text : renderText(lines, annotations, { annotateLines, includeMarkers });
  return {
    pruneId: decision.pruneId ?? '',
    prunedText,
    annotations,
    stats: statsOf(input.text, prunedText, decision, performance.now() - startedAt, whole),
    warnings,
  };
}

interface Outcome {
  readonly decision: Decision;
  readonly warnings: readonly string[];
}

function jobOf({ text, goalHint, sourceType, options }: PruneTextInput): Job {
  return {
    text,
    textHash: textHash(text),
    goal: goalHint,
    sourceType,
    hints: { origin: 'unknown' },
    limits: { maxPruneRatio: options.maxPruneRatio, minKeepLines: options.minKeepLines },
    tool: 'prune_text',
    scope: 'call',
  };
}

/** A decision whose original is in the store; where that cannot be had, the text whole and a warning that says so. */
async function decideDurably(
  options: PrunerOptions,
  input: PruneTextInput,
  job: Job,
  startedAt: number,
): Promise<Outcome> {
  const key = decisionKey(job);
  try {
    const replayed = (await options.store.findDecisions([key])).get(key);
    if (replayed) return { decision: replayed, warnings: replayed.warnings };
    const made = decideNow(options, input, job, key, startedAt);
    const { refused } = await options.store.commit(
      { decisions: [{ decision: made.decision, text: input.text }], touch: [] },
      STORE_WAIT_MS,
    );
    if (refused.length === 0) return made;
  } catch (cause) {
    options.onFailure(reasonOf(cause), cause);
  }
  return { decision: wholeDecision(job, key, 'recovery_unavailable'), warnings: ['recovery_unavailable'] };
}

function decideNow(options: PrunerOptions, input: PruneTextInput, job: Job, key: string, startedAt: number): Outcome {
  if (input.text.length > options.maxInputChars) return wholeFor(job, key, 'input_too_large');
  try {
    const deadline = startedAt + input.options.timeoutMs;
    const decision = decide(job, key, () => performance.now() > deadline);
    // What time cut short must not be replayed as if the text had been judged.
    if (decision.warnings.includes('timeout')) return wholeFor(job, key, 'timeout');
    return { decision, warnings: decision.warnings };
  } catch (cause) {
    options.onFailure('internal_error', cause);
    return wholeFor(job, key, 'internal_error');
  }
}

/** A fallback under a key of its own: its id recovers, but the next call is judged afresh. */
function wholeFor(job: Job, key: string, warning: string): Outcome {
  return { decision: wholeDecision(job, keyOf(key, warning), warning), warnings: [warning] };
}

function statsOf(before: string, after: string, made: Decision, elapsedMs: number, usedFallback: boolean): PruneStats {
  const prunedLines = made.lines - made.keptLines;
  return {
    originalLines: made.lines,
    keptLines: made.keptLines,
    prunedLines,
    prunedRatio: made.lines === 0 ? 0 : Math.round((prunedLines / made.lines) * 10_000) / 10_000,
    tokensEstBefore: estimateTokens(before),
    tokensEstAfter: estimateTokens(after),
    elapsedMs: Math.round(elapsedMs),
    usedFallback,
    extra: {},
  };
}

async function recover(options: PrunerOptions, { pruneId, ranges, numbered }: RecoverInput): Promise<string> {
  for (const { startLine, endLine } of ranges) {
    if (startLine < 1 || endLine < startLine) {
      throw new PrunerError('invalid_range', {
        code: 'invalid_range',
        prune_id: pruneId,
        hint: `Lines count from 1 and start_line must not exceed end_line; got ${startLine}-${endLine}.`,
      });
    }
  }
  const text = await findOriginal(options, pruneId);
  if (text === null) {
    throw new PrunerError('prune_id_not_found', {
      code: 'prune_id_not_found',
      prune_id: pruneId,
      hint: NOT_FOUND_HINT,
    });
  }
  const raw = renderRanges(splitLines(text), ranges, numbered);
  // Losing this mark costs at most some saving: the text may be pruned on its way back.
  options.store.markServed([textHash(raw)]).catch((cause: unknown) => options.onFailure(reasonOf(cause), cause));
  return raw;
}

async function findOriginal(options: PrunerOptions, pruneId: string): Promise<string | null> {
  try {
    return await options.store.findOriginal(pruneId);
  } catch (cause) {
    throw new PrunerError(
      'recovery_unavailable',
      { code: 'recovery_unavailable', prune_id: pruneId, hint: 'The store cannot be read now; try again in a moment.' },
      { cause },
    );
  }
}

/** A short constant code for a failure. */
export function reasonOf(cause: unknown): string {
  return cause instanceof StoreUnavailable ? `store_${cause.reason}` : 'internal_error';
}
