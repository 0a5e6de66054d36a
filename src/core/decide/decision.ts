import { planRead } from '../../engine/plan.ts';
import { countLines, splitLines } from '../../engine/text/lines.ts';
import { cleanReason, REASON_CHARS } from '../../engine/text/marker.ts';
import type { ReasonLanguage } from '../../engine/text/reasons.ts';
import { annotate, editsOf } from '../../engine/text/render.ts';
import { estimateTokens, tokensOf } from '../../engine/text/tokens.ts';
import type { View } from '../../engine/text/view.ts';
import type { Cut, Hints, Limits, Plan, SourceType } from '../../engine/types.ts';
import { keyOf, pruneIdOf } from '../hash.ts';
import type { Decision, DecisionBasis } from '../ports.ts';

const MARKERS_ONLY = { annotateLines: false, includeMarkers: true };

/** One text to decide about, with all inputs of the decision. */
export interface Job {
  readonly text: string;
  /** `textHash(text)`. */
  readonly textHash: string;
  readonly goal: string;
  readonly hints: Hints;
  readonly sourceType?: SourceType;
  readonly limits: Limits;
  /** The text is so short that only repetitive kinds, such as logs, are cut; part of the decision's key. */
  readonly small?: boolean;
  /** Language of the cuts' reasons; not part of the decision's key, so that sent bytes stay the same. */
  readonly reasonLanguage?: ReasonLanguage;
  /** Name of the tool that returned the text, or `''`; recorded only, not part of the decision's key. */
  readonly tool: string;
  /** `call` marks an explicit `prune_text`, whose text gets an id even if it stays whole. */
  readonly caller: 'proxy' | 'call';
  /** The caller's reason to leave the text whole (`reread`, `pinned`, …); part of the decision's key. */
  readonly keepWhole?: string;
  /** How the first marker explains recovery; no explanation if absent. Part of the decision's key. */
  readonly recoveryHint?: RecoveryHint;
  /** Program that the hint names instead of `mcp-pruner`; not part of the decision's key. */
  readonly recoverCommand?: string;
  /** Replaces the whole text by one marker, because of a directive. */
  readonly cutWhole?: CutWhole;
}

/** Kinds of decisions that replace a whole text by one marker. */
export const WHOLE_CUTS: ReadonlySet<string> = new Set(['stashed', 'aside', 'deleted']);

/** Kind of a decision that cuts lines because an earlier result shows them. */
export const REPEAT = 'repeat';
/** Why a text is left whole whose place in a file was read again soon after a repeat of it was cut. */
export const READ_AGAIN = 'repeat_read_again';

/** How a whole text is replaced by one marker. */
export interface CutWhole {
  /** Overrides the decision key derived from the inputs. */
  readonly key: string;
  /** Prune id in the marker. Default: derived from the key. */
  readonly pruneId?: string;
  /** The reason in the marker. */
  readonly reason: string;
  /** Recorded kind: one of `WHOLE_CUTS`. */
  readonly kind: string;
  /** Cut even if the text is smaller than its marker. */
  readonly always: boolean;
  /** Tokens of the text after an earlier cut, for the ledger; absent if it was whole. */
  readonly tokensShown?: number | undefined;
}

/** Parts that one field adds to a key, in table order. */
type KeyParts<T> = (value: T) => readonly string[];

/** For fields that do not influence the decision; each row says why. */
const NOT_IN_KEY = (): readonly string[] => [];

const HINT_PARTS = {
  origin: ({ origin }) => [origin],
  path: ({ path = '' }) => [path],
  command: ({ command = '' }) => [command],
  frameHead: ({ frameHead = 0, frameTail = 0 }) => [`${frameHead}/${frameTail}`],
  frameTail: NOT_IN_KEY, // included in the `frameHead` row
  question: ({ question }) => (question ? ['question'] : []),
  served: ({ served }) =>
    served ? [`served=${served.map(({ startLine, endLine }) => `${startLine}-${endLine}`)}`] : [],
} satisfies Record<keyof Hints, KeyParts<Hints>>;

const LIMIT_PARTS = {
  maxPruneRatio: ({ maxPruneRatio, minKeepLines }) => [`${maxPruneRatio}/${minKeepLines}`],
  minKeepLines: NOT_IN_KEY, // included in the `maxPruneRatio` row
} satisfies Record<keyof Limits, KeyParts<Limits>>;

/**
 * Contribution of each job field to the decision key. A new field does not compile without a row. Fields introduced
 * later add nothing if absent, so that older decisions are still found.
 */
const JOB_PARTS = {
  caller: ({ caller }) => [caller],
  text: NOT_IN_KEY, // covered by `textHash`
  textHash: (job) => [job.textHash],
  goal: ({ goal }) => [goal],
  sourceType: ({ sourceType = '' }) => [sourceType],
  hints: ({ hints }) => partsOf(HINT_PARTS, hints),
  limits: ({ limits }) => partsOf(LIMIT_PARTS, limits),
  keepWhole: ({ keepWhole = '' }) => [keepWhole],
  recoveryHint: ({ recoveryHint }) => (recoveryHint ? [`way=${recoveryHint}`] : []),
  recoverCommand: NOT_IN_KEY, // reinstalling the program elsewhere must not change bytes that were already sent
  small: ({ small }) => (small ? ['small'] : []),
  tool: NOT_IN_KEY, // recorded only
  reasonLanguage: NOT_IN_KEY, // changing the language must not change bytes that were already sent
  cutWhole: NOT_IN_KEY, // has its own key
} satisfies Record<keyof Job, KeyParts<Job>>;

/** Version of the rules by caller: decisions of earlier versions by other rules must not be taken for new texts. */
const RULES: Readonly<Record<Job['caller'], readonly string[]>> = { proxy: ['dial=balanced'], call: [] };

function partsOf<T>(table: Readonly<Record<string, KeyParts<T>>>, value: T): readonly string[] {
  return Object.values(table).flatMap((parts) => parts(value));
}

/**
 * Computes a job's decision key from exactly the fields that influence the decision, without the program version.
 *
 * @param backend - name of the scoring backend; `''` if the engine ranks alone
 */
export function decisionKey(job: Job, backend = ''): string {
  if (job.cutWhole) return job.cutWhole.key;
  return keyOf(...partsOf(JOB_PARTS, job), ...RULES[job.caller], ...(backend === '' ? [] : [backend]));
}

/**
 * Decides about one text under its `decisionKey`. Pure except for `shouldStop`, which aborts the work and leaves the
 * text whole (`timeout`).
 *
 * @param scores - a backend's scores of the lines, or `null`
 */
export function decide(job: Job, key: string, shouldStop: () => boolean, scores: Float64Array | null = null): Decision {
  if (job.cutWhole) return cutDecision(job, key, job.cutWhole);
  if (job.keepWhole) return wholeDecision(job, key, job.keepWhole);
  const { plan, view } = planRead({
    text: job.text,
    goal: job.goal,
    hints: job.hints,
    limits: job.limits,
    asked: job.caller === 'call',
    small: job.small,
    shouldStop,
    externalScores: scores ?? undefined,
    sourceType: job.sourceType,
    reasonLanguage: job.reasonLanguage,
  });
  const cuts = job.recoveryHint ? addRecoveryHint(plan.cuts, { ...job, way: job.recoveryHint }) : plan.cuts;
  return decisionOf(job, key, { ...plan, cuts }, { view, basis: basisOf(job, scores !== null) });
}

function basisOf({ hints, limits, sourceType, caller, small }: Job, hasScores: boolean): DecisionBasis {
  const asked = caller === 'call';
  return {
    hints,
    limits,
    asked: asked || undefined,
    small: small || undefined,
    sourceType,
    opinions: hasScores || undefined,
  };
}

/** A decision to leave a text whole. */
export function wholeDecision(job: Job, key: string, why: string): Decision {
  const tokens = estimateTokens(job.text);
  const lines = countLines(job.text);
  return {
    key,
    pruneId: job.caller === 'call' ? pruneIdOf(key) : null,
    textHash: job.textHash,
    cuts: [],
    sourceType: job.sourceType ?? 'docs',
    kind: '',
    whole: why,
    warnings: [],
    lines,
    keptLines: lines,
    tokensBefore: tokens,
    tokensAfter: tokens,
    goal: job.goal,
    tool: job.tool,
  };
}

/** The decision for a text that timed out, equal to the one the engine returns after a time-out. */
export function lateDecision(job: Job, key: string): Decision {
  return { ...wholeDecision(job, key, 'timeout'), warnings: ['timeout'] };
}

/** Whether a decision timed out. Such decisions are neither stored nor cached. */
export function isLate({ warnings }: Decision): boolean {
  return warnings.includes('timeout');
}

/** A decision that replaces a text by one marker. */
function cutDecision(job: Job, key: string, { reason, kind, always, pruneId }: CutWhole): Decision {
  const lineCount = countLines(job.text);
  const cuts = lineCount === 0 ? [] : [{ startLine: 1, endLine: lineCount, reason }];
  return decisionOf(job, key, { sourceType: 'docs', kind, lineCount, cuts, warnings: [] }, { always, pruneId });
}

interface DecisionOptions {
  /** Cut even if the result is not smaller. */
  readonly always?: boolean;
  /** Default: derived from the key. */
  readonly pruneId?: string | undefined;
  /** The view that the plan was made from, so that tokens are not counted again. */
  readonly view?: View | null;
  /** Stored with a decision that has a prune id. */
  readonly basis?: DecisionBasis;
}

/** Turns a plan into a decision. The text stays whole unless the cuts save more than their markers cost. */
export function decisionOf(
  job: Job,
  key: string,
  plan: Plan,
  { always = false, view = null, basis, pruneId = pruneIdOf(key) }: DecisionOptions = {},
): Decision {
  const lines = view?.lines ?? splitLines(job.text);
  const tokensBefore = view ? tokensIn(view, 0, view.n) : estimateTokens(job.text);
  let tokensAfter = tokensBefore;
  let cutLines = 0;
  editsOf(lines, annotate(plan.cuts, pruneId), MARKERS_ONLY).forEach(({ start, end, text }, i) => {
    const { startLine, endLine } = plan.cuts[i] ?? { startLine: 1, endLine: 0 };
    const cut = view ? tokensIn(view, startLine - 1, endLine) : estimateTokens(job.text, start, end);
    tokensAfter += estimateTokens(text) - cut;
    cutLines += endLine - startLine + 1;
  });
  const pays = cutLines > 0 && (always || tokensAfter < tokensBefore);
  const hasId = pays || job.caller === 'call';
  return {
    key,
    pruneId: hasId ? pruneId : null,
    textHash: job.textHash,
    cuts: pays ? plan.cuts : [],
    sourceType: plan.sourceType,
    kind: plan.kind,
    whole: pays ? '' : (plan.warnings[0] ?? (isForWork(job, plan) ? 'file' : 'too_little_saved')),
    warnings: plan.warnings,
    lines: lines.count,
    keptLines: pays ? lines.count - cutLines : lines.count,
    tokensBefore,
    tokensAfter: pays ? tokensAfter : tokensBefore,
    goal: job.goal,
    tool: job.tool,
    basis: hasId ? basis : undefined,
  };
}

/** Whether a text is a document, or a file that the agent may edit next. Both are cut only if that saves much. */
function isForWork({ hints, caller }: Job, { isFile = hints.origin === 'read' }: Plan): boolean {
  return caller === 'proxy' && isFile && hints.question !== true;
}

/** `estimateTokens` of the lines in `[from, end)`. */
function tokensIn({ text, lines, costs }: View, from: number, end: number): number {
  let cost = 0;
  for (let i = from; i < end; i++) cost += costs[i] ?? 0;
  return tokensOf(cost, text, lines.starts[from] ?? 0, lines.starts[end] ?? 0);
}

/**
 * How a model can recover the lines behind a marker. `tool`: the request offers `recover_text`. `shell`: it does not,
 * but an agent with a shell can run `mcp-pruner recover`.
 */
export type RecoveryHint = 'tool' | 'shell';

/**
 * Stated once per text. Otherwise models mistake a marker for damage to the source file and try to repair it. The prune
 * id and the lines are already in the marker.
 */
const WORDS: Readonly<Record<ReasonLanguage, Readonly<Record<RecoveryHint, string>>>> = {
  fr: {
    tool: 'source intacte, lignes par recover_text',
    shell: 'source intacte, lignes par: mcp-pruner recover <prune_id> --lines a-b',
  },
  en: {
    tool: 'source is whole, lines by recover_text',
    shell: 'source is whole, lines by: mcp-pruner recover <prune_id> --lines a-b',
  },
};

const PROGRAM = 'mcp-pruner';

interface HintOptions {
  readonly way: RecoveryHint;
  /** Default: French. */
  readonly reasonLanguage?: ReasonLanguage;
  /** Program named in the `shell` hint, at most 70 characters. Default: `mcp-pruner`. */
  readonly recoverCommand?: string;
}

/** Truncates a text to `room` characters at a word boundary. */
function shortened(text: string, room: number): string {
  if (text.length <= room) return text;
  const start = text.slice(0, room + 1);
  const blank = start.lastIndexOf(' ');
  return (blank > room / 2 ? start.slice(0, blank) : text.slice(0, room)).replace(/[\s:,;]{1,9}$/, '');
}

/**
 * Appends to the first cut's reason that the source is intact and how to recover lines. The reason is shortened to make
 * room.
 */
export function addRecoveryHint(
  cuts: readonly Cut[],
  { way, reasonLanguage: language = 'fr', recoverCommand = PROGRAM }: HintOptions,
): readonly Cut[] {
  const [first, ...others] = cuts;
  if (!first) return cuts;
  const words = WORDS[language][way].replace(PROGRAM, recoverCommand);
  const reason = shortened(cleanReason(first.reason), REASON_CHARS - words.length - 2);
  return [{ ...first, reason: `${reason}; ${words}` }, ...others];
}
