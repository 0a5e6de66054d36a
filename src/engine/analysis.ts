import { type GoalTerm, goalTerms } from './goal-terms.ts';
import { type Kind, recogniseKind } from './kinds.ts';
import { protectLines } from './protect.ts';
import { keepNews } from './protect-news.ts';
import { type Ranking, rankLines } from './rank.ts';
import { readTemplates, type Templates } from './templates.ts';
import type { PruneInput } from './types.ts';
import { findUnits, type Units } from './units.ts';
import { type View, viewText } from './view.ts';
import { readVocabulary, type Vocabulary } from './vocabulary.ts';

/** What of a text and its circumstances its analysis depends on; limits come in only when lines are chosen. */
export type AnalysisInput = Pick<PruneInput, 'text' | 'goal' | 'sourceType' | 'hints' | 'shouldStop'>;

/** All that is known of a text before lines are chosen; arrays are by line index. */
export interface Analysis {
  readonly view: View;
  readonly kind: Kind;
  readonly terms: readonly GoalTerm[];
  readonly units: Units;
  readonly templates: Templates;
  readonly words: Vocabulary;
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
  const words = readVocabulary(view);
  if (stopped()) return null;
  if (kind.family === 'log') keepNews(view, templates, words, terms, keep);
  const ranking = rankLines(view, kind, units, templates, words, terms);
  return stopped() ? null : { view, kind, terms, units, templates, words, keep, ranking };
}
