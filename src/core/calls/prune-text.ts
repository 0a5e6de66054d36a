import { setImmediate as nextTurn } from 'node:timers/promises';
import { splitLines } from '../../engine/text/lines.ts';
import type { ReasonLanguage } from '../../engine/text/reasons.ts';
import { annotate, renderText } from '../../engine/text/render.ts';
import { estimateTokens } from '../../engine/text/tokens.ts';
import { PrunerError } from '../../errors.ts';
import type { FailureReporter } from '../../failures.ts';
import { askBackend, backendTime } from '../decide/ask-backend.ts';
import { decisionKey, type Job, wholeDecision } from '../decide/decision.ts';
import type { DecideOnce } from '../decide/once.ts';
import { reasonOf } from '../failure-reason.ts';
import { keyOf, numbersHash, textHash } from '../hash.ts';
import type { Decision, LineScorer, Scored, Store } from '../ports.ts';
import type { BulkPruner, Pruner, PruneStats, PruneTextInput, PruneTextResult } from './api.ts';
import { lineCount, recover, recoverAll } from './recover.ts';

export interface PrunerOptions {
  readonly store: Store;
  readonly decisions: DecideOnce;
  /** Texts with more UTF-16 units than this come back whole with `input_too_large`. */
  readonly maxInputChars: number;
  /** Language of the reasons in markers and annotations, French where it is absent. */
  readonly reasonLanguage?: ReasonLanguage;
  /** Reports a fault because of which a text is returned whole; `reason` is a short constant code. */
  readonly onFailure: FailureReporter;
  /** The backend that scores lines; without one the engine ranks alone. */
  readonly scorer?: LineScorer;
  /** Makes the caller's project an owner of originals; rejects when that cannot be stored. Absent without projects. */
  readonly own?: (pruneIds: readonly string[]) => Promise<void>;
}

/** How long a call waits for another writer of the store, in milliseconds. */
const STORE_WAIT_MS = 1_000;
/** What a million input tokens of a large model cost, about; turns saved tokens into `cost_estimated_usd`. */
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

/** What is to be done with a text. */
interface Settled {
  readonly decision: Decision;
  /** Why the text is returned unchanged, or `''`. */
  readonly fault: string;
}

interface Outcome extends Settled {
  readonly asked: Asked;
  /** The store does not have the decision. */
  readonly isNew: boolean;
}

async function pruneText(
  options: PrunerOptions,
  input: PruneTextInput,
  signal: AbortSignal | undefined,
): Promise<PruneTextResult> {
  const asked = await askFor(options, input, signal);
  try {
    const kept = await keep(options, [await settle(options, asked)]);
    if (kept?.[0]) return resultOf(kept[0]);
  } catch (cause) {
    options.onFailure(reasonOf(cause), cause);
  }
  const { job, key } = asked;
  const fault = 'recovery_unavailable';
  return resultOf({ asked, decision: wholeDecision(job, key, fault), fault, isNew: false });
}

/** As `BulkPruner.pruneAll`. */
async function pruneAll(
  options: PrunerOptions,
  inputs: readonly PruneTextInput[],
  signal: AbortSignal | undefined,
): Promise<PruneTextResult[]> {
  try {
    const settled: Outcome[] = [];
    for (const input of inputs) {
      settled.push(await settle(options, await askFor(options, input, signal)));
      await nextTurn(); // texts are many: others are served in between
      signal?.throwIfAborted();
    }
    const kept = await keep(options, settled);
    if (kept) return kept.map(resultOf);
  } catch (cause) {
    signal?.throwIfAborted();
    options.onFailure(reasonOf(cause), cause);
    throw nothingKept({ cause });
  }
  throw nothingKept();
}

function nothingKept(options?: ErrorOptions): PrunerError {
  const hint =
    'The originals could not be kept, so nothing was pruned. Send the texts as they are, or try again later.';
  return new PrunerError('recovery_unavailable', { hint }, options);
}

/** A text, what is to be done with it, and what a backend said of it. */
interface Asked {
  readonly input: PruneTextInput;
  readonly job: Job;
  /** Of the decision about it. */
  readonly key: string;
  readonly scored: Scored | null;
  readonly startedAt: number;
}

async function askFor(options: PrunerOptions, input: PruneTextInput, signal: AbortSignal | undefined): Promise<Asked> {
  const startedAt = performance.now();
  const job = jobOf(input, options.reasonLanguage);
  const scored = await ask(options, input, job, signal);
  const scores = scored?.scores ?? null;
  // What a backend said is part of what decides; without it this is the very decision that the engine makes alone.
  const key = scores ? keyOf(decisionKey(job, options.scorer?.name), numbersHash(scores)) : decisionKey(job);
  return { input, job, key, scored, startedAt };
}

function resultOf({ asked: { input, scored, startedAt }, decision, fault }: Outcome): PruneTextResult {
  const annotations = annotate(decision.cuts, decision.pruneId ?? '');
  const { annotateLines, includeMarkers } = input.options;
  // after a fault the text is returned unchanged, also without line numbers
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

/** `null` when no backend is configured, or the text is too large to be looked at. */
async function ask(
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
 * What is to be done with a text: what was decided before, else what is decided now.
 *
 * @throws StoreUnavailable
 */
async function settle(options: PrunerOptions, asked: Asked): Promise<Outcome> {
  const { key } = asked;
  const known = (await options.decisions.find([key])).get(key);
  if (known) return { asked, decision: known, fault: faultOf(known), isNew: false };
  return { asked, ...(await decideNow(options, asked)), isNew: true };
}

/**
 * Makes outcomes durable, all of them or none.
 *
 * @returns as they hold now; `null` when the store refused one
 * @throws StoreUnavailable
 */
async function keep({ decisions, own }: PrunerOptions, outcomes: readonly Outcome[]): Promise<Outcome[] | null> {
  const fresh = outcomes.flatMap(({ asked, decision, isNew }) => (isNew ? { decision, text: asked.input.text } : []));
  const batch = { decisions: fresh, touch: [], wholeOrNothing: true } as const;
  const { instead, refused } = await decisions.makeDurable(batch, STORE_WAIT_MS);
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
  { input, job, key, scored, startedAt }: Asked,
): Promise<Settled> {
  if (input.text.length > maxInputChars) return wholeFor(job, key, 'input_too_large');
  try {
    const question = { job, scores: scored?.scores ?? null };
    const { decision } = await decisions.make(key, question, startedAt + input.options.timeoutMs);
    // What time cut short must not be replayed as if the text had been judged.
    if (decision.warnings.includes('timeout')) return wholeFor(job, key, 'timeout');
    return { decision, fault: faultOf(decision) };
  } catch (cause) {
    onFailure('internal_error', cause);
    return wholeFor(job, key, 'internal_error');
  }
}

/** Earlier versions stored decisions of a thread that was too late without a warning. */
function faultOf({ warnings, whole }: Decision): string {
  return warnings[0] ?? (whole === 'timeout' ? whole : '');
}

/** A fallback under a key of its own: its id recovers, but the next call is judged afresh. */
function wholeFor(job: Job, key: string, fault: string): Settled {
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

/** What `stats` has besides once a backend is configured (docs/backends.md). */
function backendStats({ stats }: Scored, { tokensEstBefore, tokensEstAfter }: PruneStats): PruneStats['extra'] {
  const saved = tokensEstBefore - tokensEstAfter;
  const usd = (Math.max(0, saved) * USD_PER_MILLION_TOKENS) / 1_000_000;
  return { ...stats, tokens_saved_est: saved, cost_estimated_usd: Math.round(usd * 1e8) / 1e8 };
}
