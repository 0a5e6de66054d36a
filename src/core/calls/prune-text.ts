import { setImmediate as nextTurn } from 'node:timers/promises';
import type { FailureReporter } from '../../base/failures.ts';
import { run } from '../../base/work.ts';
import { splitLines } from '../../engine/text/lines.ts';
import type { ReasonLanguage } from '../../engine/text/reasons.ts';
import { annotate, renderText } from '../../engine/text/render.ts';
import { estimateTokens } from '../../engine/text/tokens.ts';
import { PrunerError, reasonOf } from '../../errors/errors.ts';
import { askBackend, backendTime } from '../decide/ask-backend.ts';
import { decisionKey, isLate, type Job, wholeDecision } from '../decide/decision.ts';
import type { DecisionCache } from '../decide/decision-cache.ts';
import { keyOf, numbersHash, textHash } from '../hash.ts';
import type { Decision, LineScorer, Scored, Store } from '../ports.ts';
import type { BulkPruner, Pruner, PruneStats, PruneTextInput, PruneTextResult } from './api.ts';
import { lineCount, recover, recoverAll } from './recover.ts';

export interface PrunerOptions {
  readonly store: Store;
  readonly decisions: DecisionCache;
  /** Texts with more UTF-16 units than this are returned whole with `input_too_large`. */
  readonly maxInputChars: number;
  /** Language of the reasons in markers and annotations. Default: French. */
  readonly reasonLanguage?: ReasonLanguage;
  /** Called for each fault that leaves a text unpruned; `reason` is a short constant code. */
  readonly onFailure: FailureReporter;
  /** Backend that scores lines. If absent, the engine ranks alone. */
  readonly scorer?: LineScorer;
  /**
   * Makes the caller's project an owner of originals; rejects if that cannot be stored. Absent if originals have no
   * owners.
   */
  readonly own?: (pruneIds: readonly string[]) => Promise<void>;
}

/** Maximum wait for another writer of the store, in milliseconds. */
const STORE_WAIT_MS = 1_000;
/** Approximate price of a million input tokens of a large model, used for `cost_estimated_usd`. */
const USD_PER_MILLION_TOKENS = 3;

/**
 * `prune_text` and `recover_text` over the store. An internal fault never loses the caller's text: it is returned
 * unchanged with a warning. If a backend fails, the engine ranks alone.
 */
export function createPruner(options: PrunerOptions): Pruner & BulkPruner {
  return {
    pruneText: (input, signal) => pruneText(options, input, signal),
    recover: (input) => recover(options, input),
    lineCount: (pruneId) => lineCount(options, pruneId),
    pruneAll: (inputs, signal) => pruneAll(options, inputs, signal),
    recoverAll: (inputs) => recoverAll(options, inputs),
  };
}

/** A decision about a text, and whether a fault occurred. */
interface DecidedText {
  readonly decision: Decision;
  /** Reason code if the text is returned unchanged; otherwise `''`. */
  readonly fault: string;
}

interface Outcome extends DecidedText {
  readonly call: PendingCall;
  /** The store does not have the decision. */
  readonly isNew: boolean;
}

async function pruneText(
  options: PrunerOptions,
  input: PruneTextInput,
  signal: AbortSignal | undefined,
): Promise<PruneTextResult> {
  const call = await startCall(options, input, signal);
  try {
    const kept = await storeAll(options, [await decisionFor(options, call)]);
    if (kept?.[0]) return resultOf(kept[0]);
  } catch (cause) {
    options.onFailure(reasonOf(cause), cause);
  }
  const { job, key } = call;
  const fault = 'recovery_unavailable';
  return resultOf({ call, decision: wholeDecision(job, key, fault), fault, isNew: false });
}

/** See `BulkPruner.pruneAll`. */
async function pruneAll(
  options: PrunerOptions,
  inputs: readonly PruneTextInput[],
  signal: AbortSignal | undefined,
): Promise<PruneTextResult[]> {
  try {
    const outcomes: Outcome[] = [];
    for (const input of inputs) {
      outcomes.push(await decisionFor(options, await startCall(options, input, signal)));
      await nextTurn(); // a batch may contain many texts, so yield to other requests in between
      signal?.throwIfAborted();
    }
    const kept = await storeAll(options, outcomes);
    if (kept) return kept.map(resultOf);
  } catch (cause) {
    signal?.throwIfAborted();
    options.onFailure(reasonOf(cause), cause);
    throw nothingStored({ cause });
  }
  throw nothingStored();
}

function nothingStored(options?: ErrorOptions): PrunerError {
  const hint =
    'The originals could not be kept, so nothing was pruned. Send the texts as they are, or try again later.';
  return new PrunerError('recovery_unavailable', { hint }, options);
}

/** A `prune_text` call being processed: input, job, key and backend scores. */
interface PendingCall {
  readonly input: PruneTextInput;
  readonly job: Job;
  /** The decision's key. */
  readonly key: string;
  readonly scored: Scored | null;
  readonly startedAt: number;
}

async function startCall(
  options: PrunerOptions,
  input: PruneTextInput,
  signal: AbortSignal | undefined,
): Promise<PendingCall> {
  const startedAt = performance.now();
  const job = jobOf(input, options.reasonLanguage);
  const scored = await requestScores(options, input, job, signal);
  const scores = scored?.scores ?? null;
  // The key includes the backend's scores. Without scores it equals the key of an engine-only decision.
  const key = scores ? keyOf(decisionKey(job, options.scorer?.name), numbersHash(scores)) : decisionKey(job);
  return { input, job, key, scored, startedAt };
}

function resultOf({ call: { input, scored, startedAt }, decision, fault }: Outcome): PruneTextResult {
  const annotations = annotate(decision.cuts, decision.pruneId ?? '');
  const { annotateLines, includeMarkers } = input.options;
  // after a fault the text is returned byte for byte, without line numbers
  const prunedText =
    fault === '' ? renderText(splitLines(input.text), annotations, { annotateLines, includeMarkers }) : input.text;
  const alone = scored !== null && scored.scores === null && scored.warnings.length > 0;
  const tokensAfter = fault === '' ? estimateTokens(prunedText) : decision.tokensBefore;
  const stats = statsOf(tokensAfter, decision, performance.now() - startedAt, fault !== '' || alone);
  return {
    pruneId: decision.pruneId ?? '',
    prunedText,
    annotations,
    stats: scored === null ? stats : { ...stats, extra: backendStats(scored, stats) },
    warnings: [...(fault === '' ? [] : [fault]), ...(scored?.warnings ?? [])],
  };
}

function jobOf(
  { text, goalHint, sourceType, options }: PruneTextInput,
  reasonLanguage: ReasonLanguage | undefined,
): Job {
  return {
    text,
    textHash: textHash(text),
    goal: goalHint,
    hints: { origin: 'unknown' },
    limits: { maxPruneRatio: options.maxPruneRatio, minKeepLines: options.minKeepLines },
    tool: 'prune_text',
    caller: 'call',
    sourceType,
    reasonLanguage,
  };
}

/** Requests scores for a text from the configured backend; `null` without a backend. Oversized texts are not sent. */
async function requestScores(
  { scorer, maxInputChars }: PrunerOptions,
  { text, options }: PruneTextInput,
  job: Job,
  signal: AbortSignal | undefined,
): Promise<Scored | null> {
  if (scorer === undefined) return null;
  if (text.length > maxInputChars) return { scores: null, warnings: [], stats: { backend: scorer.name } };
  return askBackend(scorer, job, backendTime(options.timeoutMs), signal);
}

/**
 * Returns the stored decision for a text, or makes a new one.
 *
 * @throws StoreUnavailable
 */
async function decisionFor(options: PrunerOptions, call: PendingCall): Promise<Outcome> {
  const { key } = call;
  const known = (await run(options.decisions.find([key]))).get(key);
  if (known) return { call, decision: known, fault: known.warnings[0] ?? '', isNew: false };
  return { call, ...(await decideNow(options, call)), isNew: true };
}

/**
 * Commits outcomes, all or none.
 *
 * @returns the outcomes with the stored decisions, which may be another process's; `null` if the store refused one
 * @throws StoreUnavailable
 */
async function storeAll({ decisions, own }: PrunerOptions, outcomes: readonly Outcome[]): Promise<Outcome[] | null> {
  const fresh = outcomes.flatMap(({ call, decision, isNew }) => (isNew ? { decision, text: call.input.text } : []));
  const batch = { decisions: fresh, touch: [], wholeOrNothing: true } as const;
  const { instead, refused } = await run(decisions.makeDurable(batch, STORE_WAIT_MS));
  if (refused.size > 0) return null;
  const kept = outcomes.map((outcome) => ({
    ...outcome,
    decision: instead.get(outcome.decision.key) ?? outcome.decision,
  }));
  await own?.(kept.flatMap(({ decision }) => decision.pruneId ?? []));
  return kept;
}

async function decideNow(
  { maxInputChars, decisions, onFailure }: PrunerOptions,
  { input, job, key, scored, startedAt }: PendingCall,
): Promise<DecidedText> {
  if (input.text.length > maxInputChars) return wholeFor(job, key, 'input_too_large');
  try {
    const question = { job, scores: scored?.scores ?? null };
    const { decision } = await run(decisions.make(key, question, { deadline: startedAt + input.options.timeoutMs }));
    // A decision that timed out must not be replayed as a complete one.
    if (isLate(decision)) return wholeFor(job, key, 'timeout');
    return { decision, fault: decision.warnings[0] ?? '' };
  } catch (cause) {
    onFailure('internal_error', cause);
    return wholeFor(job, key, 'internal_error');
  }
}

/** A fallback decision under a separate key: its prune id can be recovered, but the next call decides again. */
function wholeFor(job: Job, key: string, fault: string): DecidedText {
  return { decision: wholeDecision(job, keyOf(key, fault), fault), fault };
}

function statsOf(tokensEstAfter: number, made: Decision, elapsedMs: number, usedFallback: boolean): PruneStats {
  const prunedLines = made.lines - made.keptLines;
  return {
    originalLines: made.lines,
    keptLines: made.keptLines,
    prunedLines,
    prunedRatio: made.lines === 0 ? 0 : Math.round((prunedLines / made.lines) * 10_000) / 10_000,
    tokensEstBefore: made.tokensBefore,
    tokensEstAfter,
    elapsedMs: Math.round(elapsedMs),
    usedFallback,
    extra: {},
  };
}

/** Additional `stats` fields if a backend is configured (docs/configuration.md). */
function backendStats({ stats }: Scored, { tokensEstBefore, tokensEstAfter }: PruneStats): PruneStats['extra'] {
  const saved = tokensEstBefore - tokensEstAfter;
  const usd = (Math.max(0, saved) * USD_PER_MILLION_TOKENS) / 1_000_000;
  return { ...stats, tokens_saved_est: saved, cost_estimated_usd: Math.round(usd * 1e8) / 1e8 };
}
