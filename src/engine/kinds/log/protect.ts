import { AT, DOT, isWordSign } from '../../text/chars.ts';
import type { Templates } from '../../text/templates.ts';
import { contentOf, isBlankLine, type View } from '../../text/view.ts';
import { type Inner, type Protect, type Protectable, protectEdge } from '../kind.ts';
import { endsTrace, possibleReports, reportBits, reportsIn } from './lines.ts';
import { protectNumbers } from './numbers.ts';

const FAILURE = reportBits('failure');
const TROUBLE = reportBits('trouble');
const DETAIL = reportBits('detail');
const DETAILED = reportBits('detailed');
const TRACE_OPEN = reportBits('trace-open');
const TRACE_FRAME = reportBits('trace-frame');
const SUMMARY = reportBits('summary');
const INFORMATIVE = FAILURE | TROUBLE | DETAIL | DETAILED | TRACE_OPEN | SUMMARY;
/** Maximum number of traces in which the same frame is kept. Set by hand, like the limits below. */
const TRACE_REPEATS = 2;
/** Longest trace kept whole, in lines. The rest of a longer trace is treated like other text. */
const MAX_TRACE = 200;
/** Maximum number of detail lines kept per failed test. */
const MAX_DETAILS = 60;
/** Trouble reports of one shape beyond this number are normal for the program and no longer kept. */
const HABIT = 6;

/** An echoed shell command: after a prompt, or traced by `set -x`. */
const ECHOED =
  /^(?:[$>#%] |\++ |❯ |➜ |PS [A-Z]:\\[^>]{0,200}> |\[?[\w.-]{1,40}@[\w.-]{1,60}[: ][^$#%>]{0,200}[$#%>] )\S/;
/** If more than this share and number of lines look like echoed commands, they are not headings. Set by hand. */
const MOST_ECHOED = 0.1;
const FEW_ECHOED = 5;
const ECHO_CHARS = 300;
const PROMPT_CHARS = 42;
const DASH = 45;
const PROMPT_SIGNS: ReadonlySet<number> = new Set([...'$>#%+❯➜P['].map((sign) => sign.charCodeAt(0)));

/** Quick check: whether a line begins with a prompt sign, or with a word up to an `@`. */
function mayEcho({ codes, from, to }: View, i: number): boolean {
  const start = from[i] ?? 0;
  const end = Math.min(to[i] ?? 0, start + PROMPT_CHARS);
  if (PROMPT_SIGNS.has(codes[start] ?? 0)) return end > start;
  let at = start;
  while (at < end && (isWordSign(codes[at] ?? 0) || codes[at] === DOT || codes[at] === DASH)) at++;
  return codes[at] === AT;
}

/** Keeps the commands echoed in a session log, which serve as headings. */
function protectCommands(view: View, { first, end }: Inner, protect: Protect): void {
  const echoed: number[] = [];
  for (let i = first; i < end; i++) if (mayEcho(view, i) && ECHOED.test(contentOf(view, i, ECHO_CHARS))) echoed.push(i);
  if (echoed.length <= Math.max(FEW_ECHOED, (end - first) * MOST_ECHOED)) for (const i of echoed) protect(i, 'heading');
}

/** Keeps failures, stack traces, summaries, unusual numbers, echoed commands, the first and the last line. */
export function protectLog(text: Protectable, protect: Protect): void {
  const { view, templates, inner } = text;
  const possible = possibleReports(view);
  const frames = new Frames(view, possible);
  for (let i = inner.first; i < inner.end; i++) {
    const may = (possible[i] ?? 0) & INFORMATIVE;
    if (may === 0) continue;
    const reports = reportsIn(view, i, may);
    const failure = (reports & FAILURE) !== 0;
    if (failure || (reports & DETAIL) !== 0 || ((reports & TROUBLE) !== 0 && templates.seenBefore(i) < HABIT)) {
      protect(i, 'failure');
      if ((reports & DETAILED) !== 0) protectDetails(view, i, inner.end, protect);
    }
    if ((reports & TRACE_OPEN) !== 0 || (failure && i + 1 < inner.end && frames.has(i + 1)))
      protectTrace(view, templates, frames, i, inner.end, protect);
    else if ((reports & SUMMARY) !== 0) protect(i, 'summary');
  }
  protectNumbers(text, protect);
  protectCommands(view, inner, protect);
  protectEdge(view, inner, false, protect);
  protectEdge(view, inner, true, protect);
}

/** Keeps lines that report failures, without surrounding lines. Failures of a frequent shape are skipped. */
export function protectFailures({ view, templates, inner }: Protectable, protect: Protect): void {
  const possible = possibleReports(view);
  for (let i = inner.first; i < inner.end; i++) {
    const may = (possible[i] ?? 0) & FAILURE;
    if (may !== 0 && templates.seenBefore(i) < HABIT && reportsIn(view, i, may) !== 0) protect(i, 'failure');
  }
}

/** Finds the frames of traces. Each line is examined once. */
class Frames {
  readonly #view: View;
  readonly #possible: Int32Array;
  readonly #known: Uint8Array;

  constructor(view: View, possible: Int32Array) {
    this.#view = view;
    this.#possible = possible;
    this.#known = new Uint8Array(view.n);
  }

  has(i: number): boolean {
    if (this.#known[i] === 0) {
      this.#known[i] = reportsIn(this.#view, i, (this.#possible[i] ?? 0) & TRACE_FRAME) === 0 ? 1 : 2;
    }
    return this.#known[i] === 2;
  }
}

/** Keeps the indented lines after a failed test, such as the YAML of TAP. */
function protectDetails(view: View, failed: number, end: number, protect: Protect): void {
  const base = view.indent[failed] ?? 0;
  for (let i = failed + 1; i < Math.min(end, failed + MAX_DETAILS); i++) {
    if ((view.indent[i] ?? 0) <= base) return;
    protect(i, 'failure');
  }
}

/** Keeps a trace, except for frames that already occurred in two traces. */
function protectTrace(
  view: View,
  templates: Templates,
  frames: Frames,
  start: number,
  end: number,
  protect: Protect,
): void {
  const base = view.indent[start] ?? 0;
  let last = start;
  for (let i = start + 1; i < Math.min(end, start + MAX_TRACE); i++) {
    if (!frames.has(i) && ((view.indent[i] ?? 0) <= base || isBlankLine(view, i))) break;
    last = i;
  }
  if (last === start) return;
  for (let i = start; i <= last; i++) if (templates.seenBefore(i) < TRACE_REPEATS) protect(i, 'trace');
  if (last + 1 < end && endsTrace(view, last + 1)) protect(last + 1, 'trace');
}
