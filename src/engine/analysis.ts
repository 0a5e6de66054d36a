import { type GoalTerm, goalTerms } from './goal-terms.ts';
import { type Kind, recogniseKind } from './kinds.ts';
import { protectLines } from './protect.ts';
import { keepNews } from './protect-news.ts';
import { type Ranking, rankLines } from './rank.ts';
import { tellingTerms } from './rank-log.ts';
import { type GoalMatch, matchGoal } from './relevance.ts';
import { readTemplates, type Templates } from './templates.ts';
import type { PruneInput } from './types.ts';
import { findUnits, type Units } from './units.ts';
import { type View, viewText } from './view.ts';
import { readVocabulary, type Vocabulary } from './vocabulary.ts';
import { wantedLike } from './words.ts';

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
