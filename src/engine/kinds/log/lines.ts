import { type LineRule, mergeRules } from '../../rules/line-rule.ts';
import { Matcher } from '../../rules/matcher.ts';
import { contentOf, isBlankLine, type View } from '../../text/view.ts';
import type { Shape } from '../kind.ts';
import type { LogFormat, Report } from './format.ts';
import { assertions } from './formats/assertions.ts';
import { builds } from './formats/builds.ts';
import { compiledTests } from './formats/compiled-tests.ts';
import { compilers } from './formats/compilers.ts';
import { githubActions } from './formats/github-actions.ts';
import { jsTests } from './formats/js-tests.ts';
import { klog } from './formats/klog.ts';
import { logfmt } from './formats/logfmt.ts';
import { plainFailures } from './formats/plain-failures.ts';
import { pythonTests } from './formats/python-tests.ts';
import { stamps } from './formats/stamps.ts';
import { tap } from './formats/tap.ts';
import { traces } from './formats/traces.ts';

/** All output formats. A new format is a file and a row here. */
const FORMATS: Readonly<Record<string, LogFormat>> = {
  plainFailures,
  assertions,
  tap,
  jsTests,
  pythonTests,
  compiledTests,
  compilers,
  builds,
  traces,
  stamps,
  githubActions,
  klog,
  logfmt,
};

/** Trace ends take so many forms that nearly every line could match. Only checked below a trace. */
const TRACE_END = 'trace-end';
const SHAPES: readonly string[] = ['testing', 'compiler', 'stamped', 'failing', 'frames'] satisfies Shape[];
const isShape = (rule: LineRule<Report | Shape>): rule is LineRule<Shape> => SHAPES.includes(rule.name);
const isReport = (rule: LineRule<Report | Shape>): rule is LineRule<Report> => !isShape(rule);

const rows = Object.values(FORMATS).flat();

/** Line shapes by which logs of any format are recognised. */
export const LOG_SHAPES = rows.filter(isShape);

const reportRules = mergeRules(rows.filter(isReport));
const matcher = new Matcher(reportRules.filter(({ name }) => name !== TRACE_END));
const ends = new Matcher(reportRules.filter(({ name }) => name === TRACE_END));
/** Maximum number of characters read per line. Set by hand. */
const READ_CHARS = 600;

export const reportBits = (...names: Report[]): number => matcher.bitsOf(...names);

const known = new WeakMap<View, Int32Array>();

/** Possible reports of each line, as `reportBits`; 0 for blank lines. Computed once per text. */
export function possibleReports(view: View): Int32Array {
  const before = known.get(view);
  if (before !== undefined) return before;
  const may = new Int32Array(view.n);
  for (let i = 0; i < may.length; i++) if (!isBlankLine(view, i)) may[i] = matcher.candidates(view, i);
  known.set(view, may);
  return may;
}

export function reportsIn(view: View, i: number, which: number): number {
  return which === 0 ? 0 : matcher.fitting(contentOf(view, i, READ_CHARS), which);
}

/** Whether a line may be the exception at the end of a trace. */
export function endsTrace(view: View, i: number): boolean {
  return !isBlankLine(view, i) && ends.matches(view, i, 200) !== 0;
}
