import type { LogFormat } from '../format.ts';

/** Test runners of JavaScript: jest, vitest, mocha, ava. */
export const jsTests: LogFormat = [
  { name: 'testing', pattern: /^(?:PASS|FAIL)\s|^\s*(?:✓|✔|✕|✗|✖|×|√)\s/ },
  { name: 'detail', pattern: /^\s*●/ },
  { name: 'passed', pattern: /^\s*(?:✓|✔|√|PASS\b)/ },
  {
    name: 'summary',
    pattern: /^\s*(?:Tests?(?: Suites| Files)?:?\s+\d|Test Files\s|\d+ (?:passing|failing|pending))/i,
  },
];
