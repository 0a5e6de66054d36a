import { CRY, criesOf } from './cries.ts';
import type { GoalTerm } from './goal-terms.ts';
import { LEARNED_LOG, soften } from './learned.ts';
import { openings } from './openings.ts';
import { columnOf, matchLines, spread, unitScale, weighWords } from './relevance.ts';
import { addMeasure, type TakeSignal } from './signals.ts';
import type { Templates } from './templates.ts';
import { contentOf, isBlankLine, type View } from './view.ts';
import type { Vocabulary } from './vocabulary.ts';
import { wordHash } from './words.ts';

const HOT =
  /\b(?:error|errors|failed|failure|failures|fail|fatal|panic(?:ked)?|exception|traceback|undefined|cannot|not found|denied|timed? ?out|unexpected|assert\w*|segmentation|abort(?:ed)?|refused|killed|unable|invalid|missing)\b|✖|✗|Error\b|\bE\d{3,4}\b/i;
const COLD =
  /\b(?:0 (?:errors|failures|failed)|no errors|error_?log|errors?=0|failures?[:=] ?0|--fail|fail-fast|-Werror|ignore.?error)\b/i;
const WARM = /\bwarn(?:ing)?\b|\bretry|\bdeprecat|\bslow\b/i;
const PASSED =
  /^\s*(?:ok \d+\b|# Subtest: |✓|✔|√|=== (?:RUN|PAUSE|CONT)|--- PASS|PASS\b)|\bPASSED\b|\.\.\. ok$|^\[\s*OK\s*\]/;
const STEP = /##\[group\]|::group::|^\[Pipeline\] stage|^Step \d+\/\d+ :/;

/** Whether `STEP` and `PASSED` may match, by the first character; what they need otherwise is a cry. */
const OPENINGS = openings('[S', 'o#=-P[');
const OPENS_STEP = 1;
const OPENS_PASSED = 2;

/** What one asks of any log: its lines are told apart by their nature, not by these words. */
const SAID_OF_EVERY_LOG = new Set(
  `build builds job jobs ci pipeline step steps log logs log message messages status fail failed failing failure
  failures broke broken break red green cause caused crash crashes crashed exit exited code run runs running command
  report reports reported diagnose locate output print prints problem wrong happened happen compile compiles compiler
  compiling échec échoué échouent console service trace stack traceback exception`
    .split(/\s+/)
    .map(wordHash),
);

/** The goal's terms without those that could be said of any log. */
export function tellingTerms(terms: readonly GoalTerm[]): GoalTerm[] {
  return terms.filter(({ hash }) => !SAID_OF_EVERY_LOG.has(hash));
}

/** Whether a line tells of something that went well. */
export function tellsSuccess(line: string): boolean {
  return PASSED.test(line);
}

/** Ranks lines of a program's output: rare failures and what is about them, rare shapes, the goal's words, the end. */
export function rankLog(view: View, templates: Templates, words: Vocabulary, terms: readonly GoalTerm[]): Float64Array {
  const scores = new Float64Array(view.n);
  measureLog(view, templates, words, terms, (name, byLine) => {
    const weight = LEARNED_LOG[name] ?? 0;
    if (weight === 0) return;
    addMeasure(scores, byLine, weight);
  });
  return soften(scores);
}

/** Measures what may tell needed lines of a log from others. The names are those of `LEARNED_LOG`. */
export function measureLog(
  view: View,
  { shape, count }: Templates,
  words: Vocabulary,
  terms: readonly GoalTerm[],
  take: TakeSignal,
): void {
  const n = view.n;
  const raw = matchLines(view, words, weighWords(view, words, tellingTerms(terms)));
  const hot = new Float64Array(n);
  const news = new Float64Array(n);
  const opens = new Float64Array(n);
  const passed = new Uint8Array(n);
  const cries = criesOf(view);
  let opener = -1;
  for (let i = 0; i < n; i++) {
    if (isBlankLine(view, i)) continue;
    const seen = count[shape[i] ?? 0] ?? 1;
    const opening = OPENINGS[view.codes[view.ink[i] ?? 0] ?? 0] ?? 0;
    const cry = cries[i] ?? 0;
    news[i] = 1 / seen;
    if (cry === 0 && opening === 0) continue;
    const line = contentOf(view, i, 600);
    if (((cry & CRY.group) !== 0 || (opening & OPENS_STEP) !== 0) && STEP.test(line)) opener = i;
    if (((cry & (CRY.result | CRY.dots)) !== 0 || (opening & OPENS_PASSED) !== 0) && tellsSuccess(line)) {
      passed[i] = 1;
      news[i] = 0;
      continue;
    }
    if ((cry & (CRY.failure | CRY.trouble | CRY.hot)) !== 0 && HOT.test(line) && !COLD.test(line)) {
      hot[i] = 1 / Math.sqrt(seen);
      if (opener >= 0) opens[opener] = Math.max(opens[opener] ?? 0, hot[i] ?? 0);
    } else if ((cry & CRY.warm) !== 0 && WARM.test(line)) hot[i] = 0.1 / Math.sqrt(seen);
  }
  take('hot', hot);
  take('heat1', unitScale(spread(hot, 1.5)));
  take('heat4', unitScale(spread(hot, 4)));
  take('heat12', unitScale(spread(hot, 12)));
  let fading = 0;
  take(
    'after',
    columnOf(n, (i) => {
      fading = Math.max(fading * Math.exp(-1 / 6), hot[i] ?? 0);
      return fading;
    }),
  );
  take('opens', opens);
  take('near', unitScale(spread(raw, 3)));
  take('match', unitScale(raw));
  take('news', news);
  take('passed', passed);
  take(
    'late',
    columnOf(n, (i) => (i / n) ** 4),
  );
  take(
    'indent',
    columnOf(n, (i) => Math.min(8, view.indent[i] ?? 0) / 8),
  );
  take(
    'length',
    columnOf(n, (i) => Math.log1p((view.to[i] ?? 0) - (view.ink[i] ?? 0)) / 6),
  );
}
