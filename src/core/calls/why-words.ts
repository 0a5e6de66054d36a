import type { ReasonLanguage } from '../../engine/text/reasons.ts';
import type { BoldnessFact } from '../ports/boldness.ts';
import { REASON_WORDS, type ReasonWords } from './reason-words.ts';
import type { Certainty, Why, WhyRegion } from './why.ts';

/** Why a text was left whole, in words; other codes are shown as they are. */
const WHOLE: Readonly<Record<string, string>> = {
  too_little_saved: 'cutting all removable lines would have saved too little',
  constraints_unmet: 'its limits cannot be met',
  timeout: 'time ran out before it was judged',
  input_too_large: 'it is larger than max_input_chars',
  internal_error: 'ranking it failed',
  reread: 'the agent asked for it, or for the same file, a second time',
  named: 'the user or the plan names the file',
  report: 'it is a report from another agent',
  window: 'the agent asked for these lines by their number',
  file: 'the agent may edit this file, and cutting it would save too little to justify the risk',
  short: 'it is a short list of hits or names',
};

/** Explains in one line why a region was kept or cut. */
export function inWords(region: WhyRegion, why: Why, kind: string, language: ReasonLanguage = 'en'): string {
  const words = REASON_WORDS[language];
  const marked = region.reason === '' ? '' : words.marked(region.reason);
  return `${because(region, why, kind, words)}${marked}`;
}

function because(
  { because: cause, kept, rule, score }: WhyRegion,
  { threshold }: Why,
  kind: string,
  words: ReasonWords,
) {
  const amount = (value: number): string => value.toFixed(2).replace('.', words.point);
  const limit = amount(threshold ?? 0);
  const worth = score === null ? '' : words.worth(amount(score.worth));
  switch (cause) {
    case 'rule':
      return words.rule(rule, words.rules[rule]);
    case 'relevance':
      return words.relevant(worth, limit, (score?.worth ?? 0) >= (threshold ?? 0)) + weighed(score, words);
    case 'noise':
      return words.below(worth, limit) + weighed(score, words);
    case 'block':
      return kept ? words.keptWithBlock(worth) : words.cutWithBlock(worth, limit) + weighed(score, words);
    case 'marker':
      return words.markerTooExpensive(worth);
    case 'budget':
      return words.budget(worth);
    case 'whole':
      return words.whole;
    case 'asked':
      return kind === 'deleted' ? words.deleted : words.stashed;
    case 'unknown':
      return kept ? words.unknownKept : words.unknownCut;
  }
}

/** The terms and measures that moved a region's worth up and down. */
function weighed(score: WhyRegion['score'], words: ReasonWords): string {
  if (score === null) return '';
  const listed = (list: readonly { readonly name: string }[]): string =>
    [...new Set(list.map(({ name }) => words.measures[name] ?? name))].join(', ');
  const pro = listed(score.measures.filter(({ effect }) => effect > 0));
  const contra = listed(score.measures.filter(({ effect }) => effect < 0));
  return [
    score.terms.length === 0 ? '' : words.has(score.terms.join(', ')),
    pro === '' ? '' : words.pro(pro),
    contra === '' ? '' : words.contra(contra),
  ].join('');
}

/** How much of the decision the explanation covers. */
export function caveat(certainty: Certainty, whole: string): string {
  switch (certainty) {
    case 'ranked':
      return '';
    case 'opinions':
      return "A backend's scores influenced this decision and were not stored; only the cuts and the rules can be shown.";
    case 'other_engine':
      return "This version's engine would cut differently (the decision was made by another version or was cut short by a time-out): what follows are the cuts as they were made, and the rules of this version.";
    case 'unrecorded':
      return 'The inputs of this decision were not stored: what follows are the cuts as they were made, and the rules of this version.';
    case 'asked':
      return 'Nothing was ranked: the whole text was replaced by one marker.';
    case 'whole':
      return `Nothing was ranked: it was left whole (${whole === '' ? 'nothing to cut' : (WHOLE[whole] ?? whole)}).`;
  }
}

/** Why a ranked text was left whole, in words. */
export function wholeWords(whole: string): string {
  return WHOLE[whole] ?? whole;
}

/** The boldness step by which a text was decided, in words. */
export function boldnessWords({ number, step }: BoldnessFact): string {
  const how =
    step === 0
      ? 'as configured again'
      : `${Math.abs(step)} step${Math.abs(step) === 1 ? '' : 's'} ${step < 0 ? 'milder' : 'bolder'} than configured`;
  return `boldness: ${how}, learned from regret of this tool and kind (learned step no. ${number})`;
}
