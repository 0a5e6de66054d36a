import type { LogFormat } from '../format.ts';

/** pytest and unittest. */
export const pythonTests: LogFormat = [
  {
    name: 'testing',
    pattern: /\b(?:PASSED|FAILED|SKIPPED|XFAIL|XPASS)\b|^\S+ \(\S+\) \.\.\. (?:ok|FAIL|ERROR|skipped)/,
  },
  { name: 'detail', pattern: /^\s*(?:E {2,}\S|> {2,}\S)|^_{3,} \S.{0,300} _{3,}$|^FAILED \S/ },
  // why pytest stopped early: an interrupt, the number of failures that `-x` allows
  { name: 'detail', pattern: /^!{3,} \S.{0,300} !{3,}$/ },
  { name: 'passed', pattern: /\bPASSED\b|\.\.\. ok$/ },
  {
    name: 'summary',
    pattern: /^\s*(?:=+ .*\d+ (?:passed|failed|error).*=+|Ran \d+ tests?|FAILED \(|OK(?: \(.*\))?$)/i,
  },
];
