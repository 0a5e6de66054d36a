import type { LogFormat } from '../format.ts';

/** Test runners of JavaScript: jest, vitest, mocha, ava. */
export const jsTests: LogFormat = [
  { name: 'testing', pattern: /^(?:PASS|FAIL)\s|^\s*(?:✓|✔|✕|✗|✖|×|√)\s/ },
  // headings of failures, including the numbered ones of Playwright and mocha
  { name: 'detail', pattern: /^\s*●|^\s{1,6}\d{1,4}\) (?:\[[^\]]{1,60}\] › |\S.{0,300}:$)|^FAIL\s/ },
  { name: 'passed', pattern: /^\s*(?:✓|✔|√|PASS\b)/ },
  {
    name: 'summary',
    pattern: /^\s*(?:Tests?(?: Suites| Files)?:?\s+\d|Test Files\s|\d+ (?:passing|failing|pending))/i,
  },
];
