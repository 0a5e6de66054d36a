import { leftWholeWords } from 'mcp-pruner/core/left-whole.ts';
import { reasonInEnglish } from 'mcp-pruner/engine/text/reasons.ts';
import { REASON_WORDS } from './reason-words.ts';
import type { Certainty, Why, WhyRegion } from './why.ts';

/** Explains in one line why a region was kept or cut. */
export function inWords(region: WhyRegion, why: Why, kind: string): string {
  const marked = region.reason === '' ? '' : REASON_WORDS.marked(reasonInEnglish(region.reason));
  return `${because(region, why, kind)}${marked}`;
}

function because({ because: cause, kept, rule, score }: WhyRegion, { threshold }: Why, kind: string): string {
  const words = REASON_WORDS;
  const amount = (value: number): string => value.toFixed(2);
  const limit = amount(threshold ?? 0);
  const worth = score === null ? '' : words.worth(amount(score.worth));
  switch (cause) {
    case 'rule':
      return words.rule(rule, words.rules[rule]);
    case 'relevance':
      return words.relevant(worth, limit, (score?.worth ?? 0) >= (threshold ?? 0)) + weighed(score);
    case 'noise':
      return words.below(worth, limit) + weighed(score);
    case 'block':
      return kept ? words.keptWithBlock(worth) : words.cutWithBlock(worth, limit) + weighed(score);
    case 'marker':
      return words.markerTooExpensive(worth);
    case 'budget':
      return words.budget(worth);
    case 'whole':
      return words.whole;
    case 'asked':
      return kind === 'deleted' ? words.deleted : kind === 'aside' ? words.aside : words.stashed;
    case 'unknown':
      return kept ? words.unknownKept : words.unknownCut;
  }
}

/** The terms and features that raised or lowered a region's worth. */
function weighed(score: WhyRegion['score']): string {
  const words = REASON_WORDS;
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

/** States how much of the decision the explanation covers. */
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
      return `Nothing was ranked: it was left whole (${whole === '' ? 'nothing to cut' : leftWholeWords(whole)}).`;
  }
}
