import type { Inner, Protect } from './protect.ts';
import { contentOf, isBlankLine, type View } from './view.ts';

const FAILURE = /error|exception|traceback|fatal|panic|fail|assert|abort|segfault|\bnot ok\b|✗|✖|✕|×/i;
const TRACE_OPEN =
  /^\s*Traceback \(most recent|^goroutine \d+ \[|^\s*stack backtrace:|^Caused by: |^\S*(?:Exception|Error)\b.*[:)]?$/;
const TRACE_FRAME = /^\s+at .+|^\s*File ".*", line \d+|^\s+\d+: +\S|^\s+\.\.\. \d+ more|^Caused by: |^\s+at$/;
const SUMMARY =
  /^\s*(?:Tests?(?: Suites| Files)?:?\s+\d|Test Files\s|Tests run:|# (?:tests|pass|fail|skip)|=+ .*\d+ (?:passed|failed|error).*=+|\d+ (?:passing|failing|pending|examples?,)|Ran \d+ tests?|FAILED \(|OK\b|test result:|BUILD (?:SUCCESS|FAILURE|FAILED)|Found \d+ error|\d+ errors?\b|\d+ warnings?\b|exit(?:ed)? (?:code|status)|Process completed with exit code|npm ERR!|make: \*\*\*)/i;
const FIRST = 2;
const LAST = 3;
const CONTEXT_SHAPES = 24;
const MAX_TRACE = 400;

/** Keeps failures with their context, stack traces, summaries, the first and the last lines. */
export function protectLog(view: View, inner: Inner, protect: Protect): void {
  let context = 0;
  for (let i = inner.first; i < inner.end; i++) {
    if (isBlankLine(view, i)) continue;
    const line = contentOf(view, i, 600);
    if (FAILURE.test(line)) {
      protect(i, 'failure');
      if (context++ < CONTEXT_SHAPES) {
        protect(i - 1, 'context');
        protect(i + 1, 'context');
      }
    }
    if (TRACE_OPEN.test(line)) protectTrace(view, i, inner.end, protect);
    else if (SUMMARY.test(line)) protect(i, 'summary');
  }
  for (let i = inner.first; i < Math.min(inner.end, inner.first + FIRST); i++) protect(i, 'edge');
  for (let i = Math.max(inner.first, inner.end - LAST); i < inner.end; i++) protect(i, 'edge');
}

function protectTrace(view: View, start: number, end: number, protect: Protect): void {
  const base = view.indent[start] ?? 0;
  for (let i = start; i < Math.min(end, start + MAX_TRACE); i++) {
    const deeper = (view.indent[i] ?? 0) > base && !isBlankLine(view, i);
    if (i > start && !deeper && !TRACE_FRAME.test(contentOf(view, i, 300))) {
      if (i > start + 1 && !isBlankLine(view, i)) protect(i, 'trace'); // the exception's own line ends a Python trace
      return;
    }
    protect(i, 'trace');
  }
}
