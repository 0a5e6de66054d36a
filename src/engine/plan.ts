import { budgetOf, choiceFor, reasonFor, SAMPLE_ID } from './choose/choice.ts';
import { type Choice, chooseRuns, type Run } from './choose/runs.ts';
import type { Analysis } from './kinds/kind.ts';
import { recogniseKind } from './kinds/recognise.ts';
import { analyse } from './reading.ts';
import { type Lines, splitLines, startOf } from './text/lines.ts';
import { formatMarker, mayHoldFullMarker } from './text/marker.ts';
import type { ReasonLanguage } from './text/reasons.ts';
import { estimateTokens } from './text/tokens.ts';
import { type View, viewText } from './text/view.ts';
import type { Cut, Plan, PlanWarning, PruneInput } from './types.ts';

/** Minimum total saving in tokens and as a share; otherwise the text stays whole. Set by hand. */
const LEAST_SAVED_TOKENS = 150;
const LEAST_SAVED_SHARE = 0.1;
/**
 * Savings of this many tokens suffice even if they are a small share of a very large text. Files that were read are cut
 * only above this, because they may be edited next: in recorded conversations, nearly all edits that failed because of
 * a cut were in such files. Tuned with `bench -- bill`.
 */
const ENOUGH_SAVED_TOKENS = 8_000;
/** Outputs from this size on are cut in bolder steps, in characters. */
const LEAST_BOLD_CHARS = 4_000;
/** Up to this many bolder steps are tried, one by one, until a cut is made. */
const BOLDER_STEPS = 3;
/** Minimum saving in a short text, in tokens: about two markers. Set by hand. */
const LEAST_SAVED_OF_SMALL = 60;

/**
 * Decides which lines of a text are cut. Pure: the same input gives the same plan; linear in the text's length.
 *
 * A plan without cuts and warnings means that cutting does not pay. Never throws, whatever the text or goal.
 */
export function planPrune(input: PruneInput): Plan {
  return planRead(input).plan;
}

/** Like `planPrune`, but also returns the view of the text, or `null` if the text was not analysed. */
export function planRead(input: PruneInput): { readonly plan: Plan; readonly view: View | null } {
  if (isNearlyBlank(input.text)) return { plan: unread(input), view: null };
  const analysis = analyse(input);
  return analysis === null
    ? { plan: unread(input, 'timeout'), view: null }
    : { plan: planOfAnalysis(analysis, input), view: analysis.view };
}

export function kindOf({ text, sourceType, hints }: Pick<PruneInput, 'text' | 'sourceType' | 'hints'>): string {
  if (isNearlyBlank(text)) return UNREAD;
  return recogniseKind(viewText(text, hints?.frameHead ?? 0), sourceType, hints).name;
}

/** Kind of a text that was not analysed. */
const UNREAD = 'unknown';

function planOfAnalysis(analysis: Analysis, input: PruneInput): Plan {
  const budget = budgetOf(analysis.view, input);
  if (budget < 0) return planOf(analysis, [], ['constraints_unmet']);
  if (budget < 1) return planOf(analysis, []);
  return chosenPlan(analysis, input).plan;
}

/** The plan with the underlying choice, for `planPrune` and for explanations. */
export function chosenPlan(analysis: Analysis, given: PruneInput): { readonly choice: Choice; readonly plan: Plan } {
  const input = { ...given, hints: analysis.hints };
  const at = (boldness: number) => {
    const choice = choiceFor(analysis, { ...input, boldness });
    return { choice, plan: planFrom(analysis, choice, input) };
  };
  const most = mayBeBolder(analysis, input) ? BOLDER_STEPS : 0;
  let step = 0;
  let chosen = at(step);
  while (chosen.plan.cuts.length === 0 && chosen.plan.warnings.length === 0 && step < most) chosen = at(++step);
  return chosen;
}

/** Whether an output that would otherwise stay whole is cut more boldly. Files only if the call contains a question. */
function mayBeBolder({ kind }: Analysis, { text, hints, asked, small }: PruneInput): boolean {
  const least = (hints?.question === true && kind.leastAskedChars) || LEAST_BOLD_CHARS;
  if (asked === true || small === true || text.length < least) return false;
  return hints?.origin !== 'read' || hints.question === true;
}

/** Derives the plan from a choice. */
function planFrom(
  analysis: Analysis,
  choice: Choice,
  input: Pick<PruneInput, 'shouldStop' | 'reasonLanguage' | 'small' | 'hints' | 'asked'>,
): Plan {
  const { kind, name } = analysis;
  if (input.small === true && kind.cutWhenSmall?.includes(name) !== true) return planOf(analysis, []);
  const divided = chooseRuns(choice).flatMap((run) => kind.divide?.(analysis, run) ?? run);
  const spare = divided.reduce((left, { from, to }) => left - (to - from + 1), choice.budget);
  const runs = kind.extend?.(analysis, divided, spare) ?? divided;
  const paying = worthwhile(choice, cutsOf(analysis, choice, runs), leastSaved(analysis, input));
  const cuts = withFullMarkers(analysis.view.lines, paying);
  if (input.shouldStop?.() === true) return planOf(analysis, [], ['timeout']);
  return planOf(analysis, inLanguage(input.reasonLanguage ?? 'fr', cuts, analysis, choice));
}

/** Replaces the reasons by another language. The choice of cuts never depends on the language. */
function inLanguage(language: ReasonLanguage, cuts: Cut[], analysis: Analysis, choice: Choice): Cut[] {
  if (language === 'fr') return cuts;
  return cuts.map((cut) => {
    const run = { from: cut.startLine - 1, to: cut.endLine - 1 };
    return { ...cut, reason: reasonFor(analysis, choice, run, language) };
  });
}

function planOf(
  { name, sourceType, view, hints }: Analysis,
  cuts: readonly Cut[],
  warnings: readonly PlanWarning[] = [],
): Plan {
  return { sourceType, kind: name, lineCount: view.n, cuts, warnings, isFile: hints?.origin === 'read' };
}

/**
 * Texts below this size are not checked for being nearly blank, in characters. Set by hand, like the line length below.
 */
const LARGE_CHARS = 50_000;
const SHORT_LINE_CHARS = 3;

/** Whether a large text consists almost entirely of line breaks, so that ranking is pointless. */
export function isNearlyBlank(text: string): boolean {
  if (text.length < LARGE_CHARS) return false;
  let lines = 0;
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) lines++;
  return lines * SHORT_LINE_CHARS > text.length;
}

/** A plan that leaves a text whole without analysis. Times out if even counting the lines takes too long. */
function unread(input: PruneInput, ...given: PlanWarning[]): Plan {
  const lineCount = splitLines(input.text).count;
  const late: PlanWarning[] = given.length === 0 && input.shouldStop?.() === true ? ['timeout'] : given;
  const warnings: PlanWarning[] = input.limits.minKeepLines > lineCount ? [...late, 'constraints_unmet'] : late;
  return { sourceType: input.sourceType ?? 'logs', kind: UNREAD, lineCount, cuts: [], warnings };
}

function cutsOf(analysis: Analysis, choice: Choice, runs: readonly Run[]): Cut[] {
  return runs.map((run) => ({
    startLine: run.from + 1,
    endLine: run.to + 1,
    reason: reasonFor(analysis, choice, run),
  }));
}

/** Minimum total saving of a text's cuts, in tokens and as a share. */
interface LeastSaved {
  readonly tokens: number;
  readonly share: number;
  /** Saving this many tokens suffices, regardless of the share. */
  readonly enough: number;
}

function leastSaved(
  { kind }: Analysis,
  { small, hints, asked }: Pick<PruneInput, 'small' | 'hints' | 'asked'>,
): LeastSaved {
  const repeats = kind.cutWhenSmall !== undefined;
  const isForWork = hints?.origin === 'read' && !repeats && hints.question !== true && asked !== true;
  return {
    tokens: small === true ? LEAST_SAVED_OF_SMALL : LEAST_SAVED_TOKENS,
    share: isForWork ? 1 : LEAST_SAVED_SHARE,
    enough: ENOUGH_SAVED_TOKENS,
  };
}

/** Cuts that save more than their markers cost; none if the total saving is too small. */
function worthwhile({ tokens }: Choice, cuts: readonly Cut[], least: LeastSaved): Cut[] {
  let saved = 0;
  const paying: Cut[] = [];
  for (const cut of cuts) {
    const net = sumBetween(tokens, cut.startLine - 1, cut.endLine) - markerTokens(cut);
    if (net <= 0) continue;
    saved += net;
    paying.push(cut);
  }
  const share = Math.min(least.share * sumBetween(tokens, 0, tokens.length), least.enough);
  return saved < Math.max(least.tokens, share) ? [] : paying;
}

/** Marks cuts that need a full marker, because a kept line above looks like a full marker with another id. */
function withFullMarkers(lines: Lines, cuts: Cut[]): Cut[] {
  if (cuts.length < 2 || !mayHoldFullMarker(lines.text)) return cuts;
  return cuts.map((cut, k) => {
    const above = cuts[k - 1];
    if (above === undefined) return cut;
    const kept = lines.text.slice(startOf(lines, above.endLine + 1), startOf(lines, cut.startLine));
    return mayHoldFullMarker(kept) ? { ...cut, full: true } : cut;
  });
}

function markerTokens(cut: Cut): number {
  return estimateTokens(`${formatMarker({ pruneId: SAMPLE_ID, ...cut })}\n`);
}

function sumBetween(values: Float64Array, from: number, to: number): number {
  let sum = 0;
  for (let i = from; i < to; i++) sum += values[i] ?? 0;
  return sum;
}
