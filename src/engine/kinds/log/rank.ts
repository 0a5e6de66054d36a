import { spread, unitScale } from '../../goal/matching.ts';
import type { GoalTerm } from '../../goal/terms.ts';
import { wordHash } from '../../goal/words.ts';
import { addMeasures, flag, logOf, type Measure, measure } from '../../rank/measures.ts';
import { LEARNED_LOG, soften } from '../../rank/weights.ts';
import type { Reading } from '../../reading.ts';
import { CRY, criesOf } from '../../rules/cries.ts';
import { openings } from '../../rules/openings.ts';
import { contentOf, type View } from '../../text/view.ts';

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

/** What of a text its lines are ranked by as those of a log. */
type LogReading = Pick<Reading, 'view' | 'templates' | 'match'>;

/** Ranks lines of a program's output: rare failures and what is about them, rare shapes, the goal's words, the end. */
export function rankLog(reading: LogReading): Float64Array {
  const scores = new Float64Array(reading.view.n);
  addMeasures(scores, measureLog(reading), LEARNED_LOG);
  return soften(scores);
}

/** Measures what may tell needed lines of a log from others. The names are those of `LEARNED_LOG`. */
export function measureLog({ view, templates: { shape, count }, match }: LogReading): Measure[] {
  const { n } = view;
  const hot = new Float64Array(n);
  const news = new Float64Array(n);
  const opens = new Float64Array(n);
  const passed = new Uint8Array(n);
  const told = tellingLines(view, shape, count, news);
  let opener = -1;
  for (const i of told) {
    const seen = count[shape[i] ?? 0] ?? 1;
    const tells = whatTells(view, i);
    if ((tells & TELLS_STEP) !== 0) opener = i;
    if ((tells & TELLS_SUCCESS) !== 0) {
      passed[i] = 1;
      news[i] = 0;
    } else if ((tells & TELLS_TROUBLE) !== 0) {
      hot[i] = 1 / Math.sqrt(seen);
      if (opener >= 0) opens[opener] = Math.max(opens[opener] ?? 0, hot[i] ?? 0);
    } else if ((tells & TELLS_WARNING) !== 0) hot[i] = 0.1 / Math.sqrt(seen);
  }
  return [
    measure('hot', hot),
    measure('heat1', unitScale(spread(hot, 1.5))),
    measure('heat4', unitScale(spread(hot, 4))),
    measure('heat12', unitScale(spread(hot, 12))),
    measure('after', afterglow(hot)),
    measure('opens', opens),
    measure('near', unitScale(spread(match.raw, 3))),
    measure('match', unitScale(match.raw.slice())),
    measure('news', news),
    flag('passed', passed, 1),
    ...measurePlaces(view),
  ];
}

/** Fills in what is new of each line, and returns the lines that may tell something. */
function tellingLines(view: View, shape: Int32Array, count: Int32Array, news: Float64Array): number[] {
  const cries = criesOf(view);
  const { codes, ink, to } = view;
  const found: number[] = [];
  for (let i = 0; i < news.length; i++) {
    const start = ink[i] ?? 0;
    if (start === to[i]) continue;
    news[i] = 1 / (count[shape[i] ?? 0] ?? 1);
    if (cries[i] !== 0 || OPENINGS[codes[start] ?? 0] !== 0) found.push(i);
  }
  return found;
}

const TELLS_STEP = 1;
const TELLS_SUCCESS = 2;
const TELLS_TROUBLE = 4;
const TELLS_WARNING = 8;

/** What a line tells, as bits; of success, trouble and a warning the first. */
function whatTells(view: View, i: number): number {
  const opening = OPENINGS[view.codes[view.ink[i] ?? 0] ?? 0] ?? 0;
  const cry = criesOf(view)[i] ?? 0;
  const line = contentOf(view, i, 600);
  const step = ((cry & CRY.group) !== 0 || (opening & OPENS_STEP) !== 0) && STEP.test(line) ? TELLS_STEP : 0;
  if (((cry & (CRY.result | CRY.dots)) !== 0 || (opening & OPENS_PASSED) !== 0) && tellsSuccess(line)) {
    return step | TELLS_SUCCESS;
  }
  if ((cry & (CRY.failure | CRY.trouble | CRY.hot)) !== 0 && HOT.test(line) && !COLD.test(line)) {
    return step | TELLS_TROUBLE;
  }
  return (cry & CRY.warm) !== 0 && WARM.test(line) ? step | TELLS_WARNING : step;
}

const AFTERGLOW = Math.exp(-1 / 6);

/** How hot the hottest line above is still, itself included. */
function afterglow(hot: Float64Array): Float64Array {
  const out = new Float64Array(hot.length);
  let fading = 0;
  for (let i = 0; i < out.length; i++) {
    fading = Math.max(fading * AFTERGLOW, hot[i] ?? 0);
    out[i] = fading;
  }
  return out;
}

function measurePlaces({ n, indent, ink, to }: View): Measure[] {
  const late = new Float64Array(n);
  const deep = new Float64Array(n);
  const length = new Float64Array(n);
  for (let i = 0; i < n; i++) {
    const squared = (i / n) * (i / n);
    late[i] = squared * squared;
    deep[i] = Math.min(8, indent[i] ?? 0) / 8;
    length[i] = logOf((to[i] ?? 0) - (ink[i] ?? 0)) / 6;
  }
  return [measure('late', late), measure('indent', deep), measure('length', length)];
}
