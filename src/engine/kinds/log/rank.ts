import { flag, logOf, type Measure, measure, spread, sumOf, unitScale } from '../../rank/measures.ts';
import type { View } from '../../text/view.ts';
import type { Reading } from '../kind.ts';
import { possibleReports, reportBits, reportsIn } from './lines.ts';

const STEP = reportBits('step');
const PASSED = reportBits('passed');
const HOT = reportBits('hot');
const COLD = reportBits('cold');
const WARM = reportBits('warm');
const INFORMATIVE = STEP | PASSED | HOT | WARM;
/** Heat of a warning, relative to a failure. Set by hand, like all values below; the weights were fitted to them. */
const WARMTH = 0.1;
/** Distances in lines over which heat (close, near, far) and goal matches fade. */
const REACH = { close: 1.5, near: 4, far: 12, match: 3 };
/** Number of lines over which heat fades to 1/e downwards. */
const FADES_IN = 6;
/** Maximum indentation; deeper lines are clamped. */
const DEEP = 8;
/** Scales the logarithm of a line's length to about 0..1. */
const LONG = 6;

/** Measures features of log lines that may distinguish needed lines. Names are the keys of `LOG_WEIGHTS`. */
export function measureLog({
  view,
  templates: { shape, count },
  match,
}: Pick<Reading, 'view' | 'templates' | 'match'>): Measure[] {
  const { n, firstNonBlank, to } = view;
  const possible = possibleReports(view);
  const hot = new Float64Array(n);
  const news = new Float64Array(n);
  const opens = new Float64Array(n);
  const passed = new Uint8Array(n);
  let opener = -1;
  for (let i = 0; i < n; i++) {
    if (firstNonBlank[i] === to[i]) continue;
    const seen = count[shape[i] ?? 0] ?? 1;
    news[i] = 1 / seen;
    const may = possible[i] ?? 0;
    if ((may & INFORMATIVE) === 0) continue;
    const reports = reportsIn(view, i, may & (INFORMATIVE | COLD));
    if ((reports & STEP) !== 0) opener = i;
    if ((reports & PASSED) !== 0) {
      passed[i] = 1;
      news[i] = 0;
    } else if ((reports & HOT) !== 0 && (reports & COLD) === 0) {
      hot[i] = 1 / Math.sqrt(seen);
      if (opener >= 0) opens[opener] = Math.max(opens[opener] ?? 0, hot[i] ?? 0);
    } else if ((reports & WARM) !== 0) hot[i] = WARMTH / Math.sqrt(seen);
  }
  return [
    measure('hot', hot),
    measure('heat1', unitScale(spread(hot, REACH.close))),
    measure('heat4', unitScale(spread(hot, REACH.near))),
    measure('heat12', unitScale(spread(hot, REACH.far))),
    measure('after', afterglow(hot)),
    measure('opens', opens),
    measure('near', unitScale(spread(match.raw, REACH.match))),
    measure('match', unitScale(match.raw.slice())),
    measure('news', news),
    flag('passed', passed, 1),
    ...measurePlaces(view, count, shape),
  ];
}

const AFTERGLOW = Math.exp(-1 / FADES_IN);

/** Remaining heat of the hottest line above, or of the line itself. */
function afterglow(hot: Float64Array): Float64Array {
  const out = new Float64Array(hot.length);
  let fading = 0;
  for (let i = 0; i < out.length; i++) {
    fading = Math.max(fading * AFTERGLOW, hot[i] ?? 0);
    out[i] = fading;
  }
  return out;
}

function measurePlaces({ n, indent, firstNonBlank, to }: View, count: Int32Array, shape: Int32Array): Measure[] {
  const late = new Float64Array(n);
  const deep = new Float64Array(n);
  const length = new Float64Array(n);
  for (let i = 0; i < n; i++) {
    const squared = (i / n) * (i / n);
    late[i] = squared * squared;
    deep[i] = Math.min(DEEP, indent[i] ?? 0) / DEEP;
    length[i] = logOf((to[i] ?? 0) - (firstNonBlank[i] ?? 0)) / LONG;
  }
  rareFirst(late, (i) => 1 / Math.sqrt(count[shape[i] ?? 0] ?? 1));
  return [measure('late', late), measure('indent', deep), measure('length', length)];
}

/** Shifts the weight of the tail to its rare lines, keeping the sum unless it exceeds their maximum. */
function rareFirst(late: Float64Array, rarity: (i: number) => number): void {
  const before = sumOf(late);
  for (let i = 0; i < late.length; i++) late[i] = (late[i] ?? 0) * rarity(i);
  const factor = before / Math.max(Number.MIN_VALUE, sumOf(late));
  for (let i = 0; i < late.length; i++) late[i] = Math.min(1, (late[i] ?? 0) * factor);
}
