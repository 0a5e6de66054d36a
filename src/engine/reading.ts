import { informativeGoal } from './goal/informative-goal.ts';
import { matchGoal } from './goal/matching.ts';
import { goalTerms } from './goal/terms.ts';
import { readVocabulary } from './goal/vocabulary.ts';
import { wantedLike } from './goal/words.ts';
import { readDeclarations } from './kinds/code/declarations.ts';
import type { Analysis, Reading } from './kinds/kind.ts';
import { keepNamed } from './kinds/named.ts';
import { protectLines } from './kinds/protect.ts';
import { recogniseKind } from './kinds/recognise.ts';
import { sumOf } from './rank/columns.ts';
import { readTemplates } from './text/templates.ts';
import { viewBehind, viewText } from './text/view.ts';
import type { PruneInput } from './types.ts';

/** The part of the input that the analysis depends on. Limits matter only when lines are chosen. */
export type AnalysisInput = Pick<PruneInput, 'text' | 'goal' | 'sourceType' | 'hints' | 'shouldStop'>;

/** Analyses a text and ranks its lines, or returns `null` if `shouldStop` returns true. */
export function analyse(input: AnalysisInput): Analysis | null {
  const stopped = (): boolean => input.shouldStop?.() === true;
  const whole = viewText(input.text, input.hints?.frameHead ?? 0);
  if (stopped()) return null;
  const { kind, name, sourceType } = recogniseKind(whole, input.sourceType, input.hints);
  const view = kind.contentStart === undefined ? whole : viewBehind(whole, kind.contentStart);
  const terms = goalTerms(informativeGoal(input.goal, input.hints));
  const templates = readTemplates(view);
  const blocks = kind.units(view);
  // the contract keeps declarations in whatever its caller calls code
  const units = kind.declares || sourceType !== 'code' ? blocks : { ...blocks, declared: readDeclarations(view) };
  if (stopped()) return null;
  const keep = protectLines(kind, { view, units, templates, sourceType }, input.hints);
  if (stopped()) return null;
  const words = readVocabulary(view, kind.ranksByAllWords ? undefined : wantedLike(terms.map(({ word }) => word)));
  if (stopped()) return null;
  const match = matchGoal(view, words, kind.informativeTerms?.(terms) ?? terms, kind.ranksByAllWords !== true);
  const reading: Reading = { view, kind, name, sourceType, terms, units, templates, words, match };
  kind.protectMatches?.(reading, keep);
  keepNamed(reading, keep);
  const value = kind.rank(reading);
  divide(value, sumOf(value));
  return stopped() ? null : { ...reading, keep, value };
}

function divide(values: Float64Array, by: number): void {
  if (by > 0) for (let i = 0; i < values.length; i++) values[i] = (values[i] ?? 0) / by;
}
