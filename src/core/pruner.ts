import { splitLines } from '../engine/text/lines.ts';
import type { ReasonLanguage } from '../engine/text/reasons.ts';
import { annotate, renderText } from '../engine/text/render.ts';
import { estimateTokens } from '../engine/text/tokens.ts';
import { PrunerError } from '../errors.ts';
import type { BulkPruner, Pruner, PruneStats, PruneTextInput, PruneTextResult } from './api.ts';
import { askBackend, backendTime } from './ask-backend.ts';
import { decisionKey, type Job, wholeDecision } from './decide.ts';
import { DecideHere, type Decider } from './decider.ts';
import { reasonOf } from './failure-reason.ts';
import { keyOf, numbersHash, textHash } from './hash.ts';
import type { Decision, LineScorer, Scored, Store } from './ports.ts';
import { recover, recoverAll } from './recover.ts';

export interface PrunerOptions {
  readonly store: Store;
  /** Texts with more UTF-16 units than this come back whole with `input_too_large`. */
  readonly maxInputChars: number;
  /** Language of the reasons in markers and annotations, French where it is absent. */
  readonly reasonLanguage?: ReasonLanguage;
  /** Told when a fault was turned into a whole text; `reason` is a short constant code. */
  readonly onFailure: (reason: string, cause: unknown) => void;
  /** The backend that has a say; without one the engine ranks alone. */
  readonly scorer?: LineScorer;
  /** Who decides; by default it is done here. */
  readonly decider?: Decider;
}

/** How long a call waits for another writer of the store, in milliseconds. */
const STORE_WAIT_MS = 1_000;
/** What a million input tokens of a large model cost, about; turns saved tokens into `cost_estimated_usd`. */
const USD_PER_MILLION_TOKENS = 3;

/**
 * `prune_text` and `recover_text` over the store. A fault of ours never loses the caller's text: it comes back whole
 * with a warning; a backend's fault costs its opinion only, and the engine ranks alone.
 */
export function createPruner(given: PrunerOptions): Pruner & BulkPruner {
  const options: Options = { ...given, decider: given.decider ?? new DecideHere() };
  return {
    pruneText: (input, signal) => pruneText(options, input, signal),
    recover: (input) => recover(options, input),
    pruneAll: (inputs, signal) => pruneAll(options, inputs, signal),
    recoverAll: (inputs) => recoverAll(options, inputs),
  };
}

type Options = Required<Pick<PrunerOptions, 'decider'>> & PrunerOptions;

/** What is to be done with a text. */
interface Outcome {
  readonly decision: Decision;
  /** Why the text comes back exactly as it came, or `''`. */
  readonly fault: string;
}

async function pruneText(
  options: Options,
  input: PruneTextInput,
  signal: AbortSignal | undefined,
): Promise<PruneTextResult> {
  const asked = await askFor(options, input, signal);
  return resultOf(asked, await decideDurably(options, asked));
}

/** As `BulkPruner.pruneAll`. */
async function pruneAll(
  options: Options,
  inputs: readonly PruneTextInput[],
  signal: AbortSignal | undefined,
): Promise<PruneTextResult[]> {
  const jobs: { readonly asked: Asked; readonly outcome: Outcome; readonly fresh: boolean }[] = [];
  try {
    for (const input of inputs) {
      const asked = await askFor(options, input, signal);
      const replayed = (await options.store.findDecisions([asked.key])).get(asked.key);
      const outcome = replayed ? { decision: replayed, fault: faultOf(replayed) } : await decideNow(options, asked);
      jobs.push({ asked, outcome, fresh: !replayed });
      await nextTurn(); // texts are many: others are served in between
      signal?.throwIfAborted();
    }
    const decisions = jobs.flatMap(({ asked, outcome, fresh }) =>
      fresh ? [{ decision: outcome.decision, text: asked.input.text }] : [],
    );
    const touch = jobs.flatMap(({ outcome, fresh }) => (fresh ? [] : (outcome.decision.pruneId ?? [])));
    const { refused } = await options.store.commit({ decisions, touch, wholeOrNothing: true }, STORE_WAIT_MS);
    if (refused.length === 0) return jobs.map(({ asked, outcome }) => resultOf(asked, outcome));
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

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
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
  const opinions = scored?.opinions ?? null;
  // What a backend said is part of what decides; without it this is the very decision that the engine makes alone.
  const key = opinions ? keyOf(decisionKey(job, options.scorer?.name), numbersHash(opinions)) : decisionKey(job);
  return { input, job, key, scored, startedAt };
}

function resultOf({ input, scored, startedAt }: Asked, { decision, fault }: Outcome): PruneTextResult {
  const annotations = annotate(decision.cuts, decision.pruneId ?? '');
  const { annotateLines, includeMarkers } = input.options;
  // After a fault the text comes back exactly as it came: without line numbers too.
  const prunedText =
    fault === '' ? renderText(splitLines(input.text), annotations, { annotateLines, includeMarkers }) : input.text;
  const alone = scored !== null && scored.opinions === null && scored.warnings.length > 0;
  const stats = statsOf(prunedText, decision, performance.now() - startedAt, fault !== '' || alone);
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
    scope: 'call',
    ...(sourceType && { sourceType }),
    ...(reasonLanguage && { reasonLanguage }),
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
  if (text.length > maxInputChars) return { opinions: null, warnings: [], stats: { backend: scorer.name } };
  return askBackend(scorer, job, backendTime(options.timeoutMs), signal);
}

/** A decision whose original is in the store; where that cannot be had, the text whole and a warning that says so. */
async function decideDurably(options: Options, asked: Asked): Promise<Outcome> {
  const { input, job, key } = asked;
  try {
    const replayed = (await options.store.findDecisions([key])).get(key);
    if (replayed) return { decision: replayed, fault: faultOf(replayed) };
    const made = await decideNow(options, asked);
    const { refused } = await options.store.commit(
      { decisions: [{ decision: made.decision, text: input.text }], touch: [] },
      STORE_WAIT_MS,
    );
    if (refused.length === 0) return made;
  } catch (cause) {
    options.onFailure(reasonOf(cause), cause);
  }
  return { decision: wholeDecision(job, key, 'recovery_unavailable'), fault: 'recovery_unavailable' };
}

async function decideNow(options: Options, { input, job, key, scored, startedAt }: Asked): Promise<Outcome> {
  if (input.text.length > options.maxInputChars) return wholeFor(job, key, 'input_too_large');
  try {
    const deadline = startedAt + input.options.timeoutMs;
    const decision = await options.decider.decide(job, key, deadline, scored?.opinions ?? null);
    // What time cut short must not be replayed as if the text had been judged.
    if (decision.warnings.includes('timeout')) return wholeFor(job, key, 'timeout');
    return { decision, fault: faultOf(decision) };
  } catch (cause) {
    options.onFailure('internal_error', cause);
    return wholeFor(job, key, 'internal_error');
  }
}

function faultOf({ warnings }: Decision): string {
  return warnings[0] ?? '';
}

/** A fallback under a key of its own: its id recovers, but the next call is judged afresh. */
function wholeFor(job: Job, key: string, fault: string): Outcome {
  return { decision: wholeDecision(job, keyOf(key, fault), fault), fault };
}

function statsOf(after: string, made: Decision, elapsedMs: number, usedFallback: boolean): PruneStats {
  const prunedLines = made.lines - made.keptLines;
  return {
    originalLines: made.lines,
    keptLines: made.keptLines,
    prunedLines,
    prunedRatio: made.lines === 0 ? 0 : Math.round((prunedLines / made.lines) * 10_000) / 10_000,
    tokensEstBefore: made.tokensBefore,
    tokensEstAfter: estimateTokens(after),
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
