import type { Rule } from '../../engine/kinds/protection.ts';
import type { BoldnessFact } from '../ports/boldness.ts';
import type { Certainty, Why, WhyRegion } from './why.ts';

/** What each rule keeps, in words. */
const RULES: Readonly<Record<Rule, string>> = {
  '': '',
  'no-prune': 'between NO_PRUNE directives',
  frame: 'what the client put around the text',
  header: 'header of the file',
  import: 'imports stay',
  declaration: 'declarations stay',
  failure: 'tells of a failure',
  news: 'seldom in this log',
  named: 'holds a rare name that the goal spells out',
  trace: 'part of a stack trace',
  summary: 'summary of the run',
  edge: 'first or last line',
  heading: 'headings stay',
  fence: 'opens or closes a fenced block',
  'diff-header': 'header of a diff',
  'file-spread': 'one line of each file that was found',
  structure: 'holds the rest together',
};

/** What a text was left whole for, in words; other codes stand for themselves. */
const WHOLE: Readonly<Record<string, string>> = {
  too_little_saved: 'all that could go would have saved too little',
  constraints_unmet: 'its limits cannot be met',
  timeout: 'time ran out before it was judged',
  input_too_large: 'it is larger than max_input_chars',
  internal_error: 'ranking it failed',
  reread: 'the agent asked for it, or for the same file, a second time',
  named: 'the user or the plan names the file',
  report: 'another agent reports in it',
  window: 'the agent asked for these lines by their number',
};

/** Measures of the ranking: those of `LEARNED`. */
const MEASURES: Readonly<Record<string, string>> = {
  raw: "the goal's words in it",
  match: "the goal's words in it",
  near: "the goal's words around it",
  cover3: "how many of the goal's words are close to it",
  cover10: "how many of the goal's words are near it",
  cover40: "how many of the goal's words are in its surroundings",
  share: 'how much of the goal is near it',
  unit: "the goal's words in its block",
  unitBest: 'the best line of its block',
  parent: 'the block around its block',
  unitCover: 'how much of the goal its block covers',
  head: 'the line that opens its block',
  named: 'the goal names its block',
  beside: 'the blocks beside its own',
  unitSize: 'the size of its block',
  unitMass: "the goal's words in a large block",
  blank: 'blank lines',
  comment: 'comments',
  closer: 'closing brackets',
  declares: 'declarations',
  imports: 'import lines',
  heading: 'headings',
  list: 'lists',
  length: 'the length of its lines',
  depthInUnit: 'its depth',
  position: 'its place in the text',
  top: 'its place at the top',
  end: 'its place at the end',
  seen: 'how often its shape comes',
  words: 'the number of its words',
  calls: 'calls in it',
  assigns: 'assignments in it',
  quotes: 'quoted text in it',
  digits: 'numbers in it',
  version: 'version numbers in it',
  link: 'links in it',
  tick: 'code marks in it',
  late: 'its place in the log',
  rarity: 'how rare its words are',
  hot: 'signs of trouble',
  heat1: 'signs of trouble around it',
  heat4: 'signs of trouble around it',
  heat12: 'signs of trouble around it',
  after: 'signs of trouble before it',
  opens: 'it opens a step with trouble',
  news: 'how rare its shape is',
  passed: 'success told',
  indent: 'its indentation',
};

/** Says in one line why a region was kept or cut. */
export function inWords(region: WhyRegion, why: Why, kind: string): string {
  const marked = region.reason === '' ? '' : `; marked "${region.reason}"`;
  return `${because(region, why, kind)}${marked}`;
}

function because({ because: cause, kept, rule, score }: WhyRegion, { threshold }: Why, kind: string): string {
  const limit = (threshold ?? 0).toFixed(2);
  const worth = score === null ? '' : `worth ${score.worth.toFixed(2)}`;
  switch (cause) {
    case 'rule':
      return `rule ${rule}: ${RULES[rule]}`;
    case 'relevance':
      return `${worth}: ${(score?.worth ?? 0) >= (threshold ?? 0) ? 'not' : 'some lines of it not'} below ${limit}${weighed(score)}`;
    case 'noise':
      return `${worth}, below ${limit}${weighed(score)}`;
    case 'block':
      return kept
        ? `${worth}, but its block goes whole or not at all, and stays`
        : `${worth}, not below ${limit}, but it goes with the block around it${weighed(score)}`;
    case 'marker':
      return `${worth}, but a marker would cost more than cutting it saves`;
    case 'budget':
      return `${worth}, but the limits let no more lines go`;
    case 'whole':
      return 'the text was left whole';
    case 'asked':
      return kind === 'deleted' ? 'deleted on request' : 'set aside as a whole, on request or by the budget';
    case 'unknown':
      return kept ? 'not cut; no rule keeps it' : 'cut; no score of it is known';
  }
}

/** What moved a region's worth, for and against it. */
function weighed(score: WhyRegion['score']): string {
  if (score === null) return '';
  const told = (list: readonly { readonly name: string }[]): string =>
    [...new Set(list.map(({ name }) => MEASURES[name] ?? name))].join(', ');
  const pro = told(score.measures.filter(({ effect }) => effect > 0));
  const contra = told(score.measures.filter(({ effect }) => effect < 0));
  return [
    score.terms.length === 0 ? '' : `; has ${score.terms.join(', ')}`,
    pro === '' ? '' : `; for it: ${pro}`,
    contra === '' ? '' : `; against it: ${contra}`,
  ].join('');
}

/** What must be known to read an explanation: how far it goes. */
export function caveat(told: Certainty, whole: string): string {
  switch (told) {
    case 'ranked':
      return '';
    case 'opinions':
      return 'Another backend had a say in it and its scores are not kept: what follows are the cuts as they were made, and the rules.';
    case 'other_engine':
      return 'The engine of this version would cut elsewhere (another version decided, or time cut it short): what follows are the cuts as they were made, and the rules of this version.';
    case 'unrecorded':
      return 'What it was decided from was not kept: what follows are the cuts as they were made, and the rules of this version.';
    case 'asked':
      return 'Nothing was ranked: the whole text gave way to one marker.';
    case 'whole':
      return `Nothing was ranked: it was left whole (${whole === '' ? 'nothing to cut' : (WHOLE[whole] ?? whole)}).`;
  }
}

/** Why a ranked text was left whole, in words. */
export function wholeWords(whole: string): string {
  return WHOLE[whole] ?? whole;
}

/** By which boldness step a text was judged, in words. */
export function boldnessWords({ number, step }: BoldnessFact): string {
  const how =
    step === 0
      ? 'as configured again'
      : `${Math.abs(step)} step${Math.abs(step) === 1 ? '' : 's'} ${step < 0 ? 'milder' : 'bolder'} than configured`;
  return `boldness: ${how}, learnt from regret of this tool and kind (step ${number})`;
}
