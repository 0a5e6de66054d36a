import { CRY, criesOf } from '../../rules/cries.ts';
import { openings } from '../../rules/openings.ts';
import type { Templates } from '../../text/templates.ts';
import { contentOf, isBlankLine, type View } from '../../text/view.ts';
import type { Inner, Protect } from '../protect.ts';

/** 001 §7.4 binds these. */
const FAILURE = /error|exception|traceback/i;
/** As telling, but a shape that keeps coming back is a habit of the program, not news. */
const TROUBLE = /fatal|panic|fail|\bassert|\babort|segfault|segmentation|\bnot ok\b|\bcannot\b|\bdenied\b|✗|✖|✕/i;
/** What test runners print of a failure besides its name. */
const TEST_DETAIL =
  /^\s*(?:E {2,}\S|> {2,}\S|●|[+-] (?:Expected|Received|expected|actual)|(?:Expected|Received|expected|actual|left|right|operator|location)\s*:)/;
const TRACE_OPEN =
  /^\s*(?:Traceback \(most recent|goroutine \d+ \[|stack backtrace:)|^\s*(?:Caused by: |Exception in thread )|^\s*(?:[\w$]+\.)*[A-Z]\w*(?:Exception|Error)\b/;
const TRACE_FRAME =
  /^\s+at \S|^\s*File ".*", line \d+|^\s+\d+: +\S|^\s+\.\.\. \d+ more|^\s*Caused by: |^\s*Suppressed: /;
const SUMMARY =
  /^\s*(?:Tests?(?: Suites| Files)?:?\s+\d|Test Files\s|Tests run:|# (?:tests|pass|fail|skip)|=+ .*\d+ (?:passed|failed|error).*=+|\d+ (?:passing|failing|pending|examples?,)|Ran \d+ tests?|FAILED \(|OK(?: \(.*\))?$|test result:|BUILD (?:SUCCESS|FAILURE|FAILED)|Found \d+ error|\d+ errors?\b|\d+ warnings?\b|exit(?:ed)? (?:code|status)|Process completed with exit code|npm ERR!|make: \*\*\*)/i;
/** Whether the patterns above that name no failure may match, by the first character. */
const OPENINGS = openings('E>+-Realro', 'gsC', '#=tTrRfFoObBeEpPnNmM', '0123456789');
const OPENS_COUNT = 8;
const OPENS_OTHER = 7;
/** The same for a frame of a trace. */
const FRAME_OPENINGS = openings('aF.CS0123456789');
const FIRST = 1;
const LAST = 1;
const TRACE_REPEATS = 2;
const MAX_TRACE = 200;
const MAX_DIAGNOSTICS = 60;
const HABIT = 6;

/** Keeps failures, stack traces, summaries, the first and the last lines. */
export function protectLog(view: View, templates: Templates, inner: Inner, protect: Protect): void {
  const cries = criesOf(view);
  const frames = new Frames(view);
  for (let i = inner.first; i < inner.end; i++) {
    const cry = (cries[i] ?? 0) & (CRY.failure | CRY.trouble);
    if (isBlankLine(view, i) || (cry === 0 && !mayOpen(view, i))) continue;
    const line = contentOf(view, i, 600);
    const failure = (cry & CRY.failure) !== 0 && FAILURE.test(line);
    if (failure || TEST_DETAIL.test(line) || (cry !== 0 && TROUBLE.test(line) && templates.seenBefore(i) < HABIT)) {
      protect(i, 'failure');
      if (/^\s*not ok\b/.test(line)) protectDiagnostics(view, i, inner.end, protect);
    }
    if (TRACE_OPEN.test(line) || (failure && i + 1 < inner.end && frames.has(i + 1)))
      protectTrace(view, templates, frames, i, inner.end, protect);
    else if (SUMMARY.test(line)) protect(i, 'summary');
  }
  protectEdges(view, inner, protect);
}

/** Whether a line may tell something by how it begins. */
function mayOpen({ codes, ink, to }: View, i: number): boolean {
  let at = ink[i] ?? 0;
  const opening = OPENINGS[codes[at] ?? 0] ?? 0;
  if ((opening & OPENS_OTHER) !== 0 || opening === 0) return opening !== 0;
  // a number tells something before a blank: `3 failing`
  const end = to[i] ?? 0;
  while (at < end && OPENINGS[codes[at] ?? 0] === OPENS_COUNT) at++;
  return codes[at] === 32;
}

/** Which lines are frames of a trace; each is looked at once. */
class Frames {
  readonly #view: View;
  readonly #known: Uint8Array;

  constructor(view: View) {
    this.#view = view;
    this.#known = new Uint8Array(view.n);
  }

  has(i: number): boolean {
    if (this.#known[i] === 0) {
      const may = (FRAME_OPENINGS[this.#view.codes[this.#view.ink[i] ?? 0] ?? 0] ?? 0) !== 0;
      this.#known[i] = may && TRACE_FRAME.test(contentOf(this.#view, i, 300)) ? 2 : 1;
    }
    return this.#known[i] === 2;
  }
}

/** The indented YAML behind a failed TAP test. */
function protectDiagnostics(view: View, failed: number, end: number, protect: Protect): void {
  const base = view.indent[failed] ?? 0;
  for (let i = failed + 1; i < Math.min(end, failed + MAX_DIAGNOSTICS); i++) {
    if ((view.indent[i] ?? 0) <= base) return;
    protect(i, 'failure');
  }
}

function protectEdges(view: View, inner: Inner, protect: Protect): void {
  for (let i = inner.first, kept = 0; i < inner.end && kept < FIRST; i++) {
    if (isBlankLine(view, i)) continue;
    protect(i, 'edge');
    kept++;
  }
  for (let i = inner.end - 1, kept = 0; i >= inner.first && kept < LAST; i--) {
    if (isBlankLine(view, i)) continue;
    protect(i, 'edge');
    kept++;
  }
}

/** A trace stays whole, but for frames that were seen in two traces before. */
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
  const ending = last + 1;
  // the exception's own line ends a Python trace
  if (
    ending < end &&
    !isBlankLine(view, ending) &&
    /^\s*[\w.]+(?:Error|Exception|Exit|Interrupt|Warning)?\b(?::|$)/.test(contentOf(view, ending, 200))
  ) {
    protect(ending, 'trace');
  }
}
