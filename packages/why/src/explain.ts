import { budgetOf } from 'mcp-pruner/engine/choose/choice.ts';
import type { Choice } from 'mcp-pruner/engine/choose/runs.ts';
import { weighWords } from 'mcp-pruner/engine/goal/matching.ts';
import type { Vocabulary } from 'mcp-pruner/engine/goal/vocabulary.ts';
import { type Analysis, RULES, type Rule } from 'mcp-pruner/engine/kinds/kind.ts';
import { chosenPlan, isNearlyBlank, planPrune } from 'mcp-pruner/engine/plan.ts';
import { analyse } from 'mcp-pruner/engine/reading.ts';
import type { Plan, PruneInput } from 'mcp-pruner/engine/types.ts';
import { contributionsOf } from './contributions.ts';

/**
 * Why a region was kept or cut. `rule`: a rule protects it. `relevance`: it is worth more than its tokens. `noise`: it
 * is worth less. `block`: it follows the enclosing block. `marker`: the cut would not pay for its marker. `budget`: the
 * limits allowed no further cut. `whole`: the text is left whole, since all cuts save too little.
 */
export type Because = 'rule' | 'relevance' | 'noise' | 'block' | 'marker' | 'budget' | 'whole';

/** A run of lines that were kept or cut for one reason; line numbers are 1-based and inclusive. */
export interface Region {
  readonly startLine: number;
  readonly endLine: number;
  readonly kept: boolean;
  readonly because: Because;
  /** The rule that keeps the region, or `''`. */
  readonly rule: Rule;
  /** Its estimated share of what the goal needs, divided by its share of the text's size; 1 is average. */
  readonly worth: number;
  readonly tokens: number;
  /** Goal words in the region, at most 8, as spelled in the goal. */
  readonly terms: readonly string[];
  /**
   * Features in which the region differs most from the text's average, strongest first; empty for kinds without learned
   * features.
   */
  readonly measures: readonly { readonly name: string; readonly effect: number }[];
}

export interface Explanation {
  readonly plan: Plan;
  /** Goal words in the text, by descending weight. */
  readonly terms: readonly string[];
  /** Regions below this worth are cut, unless a rule, the cost of a marker or the budget keeps them. */
  readonly threshold: number;
  readonly budget: number;
  readonly regions: readonly Region[];
}

/** Explains `planPrune(input)` region by region, and returns the same plan. Takes about twice as long as planning. */
export function explainPlan(input: PruneInput): Explanation {
  const analysis = isNearlyBlank(input.text) ? null : analyse(input);
  if (analysis === null || budgetOf(analysis.view, input) < 1) {
    return { plan: planPrune(input), terms: [], threshold: 0, budget: 0, regions: [] };
  }
  const { choice, plan } = chosenPlan(analysis, input);
  let all = 0;
  for (const s of choice.size) all += s;
  const threshold = choice.price * all;
  const fates = fatesOf(choice.keep, choice, plan);
  const spans = spansOf(fates);
  const contributions = contributionsOf(analysis.kind.measure?.(analysis) ?? [], spans, choice.n);
  const { words } = analysis;
  const terms = termsOf(analysis, words, spans);
  const regions = spans.map(({ from, to }, k): Region => {
    const worth = worthOf(choice, from, to, all);
    return {
      startLine: from + 1,
      endLine: to + 1,
      ...fateOf(fates.slice(from, to + 1), worth.worth >= threshold),
      ...worth,
      terms: terms[k] ?? [],
      measures: contributions[k] ?? [],
    };
  });
  return { plan, terms: knownTerms(analysis, words), threshold, budget: choice.budget, regions };
}

interface Fate {
  readonly kept: boolean;
  readonly because: Because;
  readonly rule: Rule;
}

/** A budget counts as used up if less than this share of the lines, or fewer than two lines, is left. Set by hand. */
const SPENT_SHARE = 0.02;
const SPENT_LINES = 2;

function fatesOf(rules: Uint8Array, choice: Choice, plan: Plan): Fate[] {
  const cut = new Uint8Array(choice.n);
  for (const { startLine, endLine } of plan.cuts) cut.fill(1, startLine - 1, endLine);
  const spent = plan.cuts.reduce((sum, { startLine, endLine }) => sum + endLine - startLine + 1, 0);
  const full = choice.budget - spent < Math.max(SPENT_LINES, choice.n * SPENT_SHARE);
  return Array.from({ length: choice.n }, (_, i): Fate => {
    const rule = RULES[rules[i] ?? 0] ?? '';
    const worthy = (choice.value[i] ?? 0) >= choice.price * (choice.size[i] ?? 0);
    if (cut[i] === 1) return { kept: false, because: worthy ? 'block' : 'noise', rule: '' };
    if (rule !== '') return { kept: true, because: 'rule', rule };
    if (plan.cuts.length === 0) return { kept: true, because: 'whole', rule: '' };
    if (worthy) return { kept: true, because: 'relevance', rule: '' };
    if (choice.glued[i] === 1 || choice.glued[i + 1] === 1) return { kept: true, because: 'block', rule: '' };
    return { kept: true, because: full ? 'budget' : 'marker', rule: '' };
  });
}

/** The strongest reason among the lines of a kept region. For a cut, the total worth decides. */
function fateOf(lines: readonly Fate[], worthy: boolean): Fate {
  const [first = { kept: true, because: 'whole', rule: '' }] = lines;
  if (!first.kept) return { ...first, because: worthy ? 'block' : 'noise' };
  return STRONGEST_FIRST.map((because) => lines.find((line) => line.because === because)).find(Boolean) ?? first;
}

const STRONGEST_FIRST: readonly Because[] = ['relevance', 'block', 'budget', 'marker'];

interface Span {
  readonly from: number;
  readonly to: number;
}

/** Runs of lines with the same outcome and rule, regardless of single lines' worth. */
function spansOf(fates: readonly Fate[]): Span[] {
  const out: Span[] = [];
  let from = 0;
  for (let i = 1; i <= fates.length; i++) {
    const a = fates[i - 1];
    const b = fates[i];
    if (b !== undefined && a?.kept === b.kept && a.rule === b.rule) continue;
    out.push({ from, to: i - 1 });
    from = i;
  }
  return fates.length === 0 ? [] : out;
}

function worthOf(choice: Choice, from: number, to: number, all: number): { worth: number; tokens: number } {
  let value = 0;
  let tokens = 0;
  let size = 0;
  for (let i = from; i <= to; i++) {
    value += choice.value[i] ?? 0;
    tokens += choice.tokens[i] ?? 0;
    size += choice.size[i] ?? 0;
  }
  return { worth: size === 0 ? 0 : (value * all) / size, tokens };
}

/** Maximum number of goal words named per region. Set by hand: enough to show the reason. */
const MOST_TERMS = 8;

function termsOf({ terms }: Analysis, words: Vocabulary, spans: readonly Span[]): string[][] {
  const named = new Map<number, string>();
  for (const { hash, word } of terms) {
    const id = words.find(hash);
    if (id >= 0) named.set(id, word);
  }
  return spans.map(({ from, to }) => {
    const found = new Set<string>();
    for (let k = words.first[from] ?? 0; k < (words.first[to + 1] ?? 0) && found.size < MOST_TERMS; k++) {
      const word = named.get(words.ids[k] ?? 0);
      if (word !== undefined) found.add(word);
    }
    return [...found];
  });
}

function knownTerms({ view, terms }: Analysis, words: Vocabulary): string[] {
  const weight = weighWords(view, words, terms);
  return terms.filter(({ hash }) => (weight[words.find(hash)] ?? 0) > 0).map(({ word }) => word);
}
