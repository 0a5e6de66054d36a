import type { GoalTerm } from '../../goal/terms.ts';
import { wordHash } from '../../goal/words.ts';

/** Words that occur in questions about any log, so that they do not distinguish lines. */
const SAID_OF_EVERY_LOG = new Set(
  `build builds job jobs ci pipeline step steps log logs log message messages status fail failed failing failure
  failures broke broken break red green cause caused crash crashes crashed exit exited code run runs running command
  report reports reported diagnose locate output print prints problem wrong happened happen compile compiles compiler
  compiling échec échoué échouent console service trace stack traceback exception`
    .split(/\s+/)
    .map(wordHash),
);

/** Filters out goal terms that apply to any log. */
export function informativeTerms(terms: readonly GoalTerm[]): GoalTerm[] {
  return terms.filter(({ hash }) => !SAID_OF_EVERY_LOG.has(hash));
}
