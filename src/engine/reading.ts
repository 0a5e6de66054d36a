import { type GoalMatch, matchGoal } from './goal/matching.ts';
import { type GoalTerm, goalTerms } from './goal/terms.ts';
import { readVocabulary, type Vocabulary } from './goal/vocabulary.ts';
import { wantedLike } from './goal/words.ts';
import { keepNews } from './kinds/log/news.ts';
import { tellingTerms } from './kinds/log/rank.ts';
import { protectLines } from './kinds/protect.ts';
import { type Ranking, rankLines } from './kinds/rank.ts';
import { type Kind, recogniseKind } from './kinds/recognise.ts';
import { findUnits, type Units } from './kinds/units.ts';
import { readTemplates, type Templates } from './text/templates.ts';
import { type View, viewText } from './text/view.ts';
import type { PruneInput } from './types.ts';

/** What of a text and its circumstances its analysis depends on; limits come in only when lines are chosen. */
export type AnalysisInput = Pick<PruneInput, 'text' | 'goal' | 'sourceType' | 'hints' | 'shouldStop'>;

/** What was read of a text; arrays are by line index. */
export interface Reading {
  readonly view: View;
  readonly kind: Kind;
  readonly terms: readonly GoalTerm[];
  readonly units: Units;
  readonly templates: Templates;
  readonly words: Vocabulary;
  readonly match: GoalMatch;
}

/** All that is known of a text before lines are chosen. */
export interface Analysis extends Reading {
  /** Index into `RULES` of the rule by which a line must stay, 0 for none. */
  readonly keep: Uint8Array;
  readonly ranking: Ranking;
}

/** Reads a text and judges every line of it, or returns `null` when told to stop. */
export function analyse(input: AnalysisInput): Analysis | null {
  const stopped = (): boolean => input.shouldStop?.() === true;
  const view = viewText(input.text, input.hints?.frameHead ?? 0);
  if (stopped()) return null;
  const kind = recogniseKind(view, input.sourceType, input.hints);
  const terms = goalTerms(input.goal);
  const templates = readTemplates(view);
  const units = findUnits(view, kind);
  if (stopped()) return null;
  const keep = protectLines(view, kind, templates, units, input.hints);
  if (stopped()) return null;
  // only code and prose are ranked by words that nobody asked for too
  const all = kind.family === 'code' || kind.family === 'docs';
  const words = readVocabulary(view, all ? undefined : wantedLike(terms.map(({ word }) => word)));
  if (stopped()) return null;
  const match = matchGoal(view, words, kind.family === 'log' ? tellingTerms(terms) : terms);
  if (kind.family === 'log') keepNews(view, templates, words, match, keep);
  const reading: Reading = { view, kind, terms, units, templates, words, match };
  const ranking = rankLines(reading);
  return stopped() ? null : { view, kind, terms, units, templates, words, match, keep, ranking };
}
