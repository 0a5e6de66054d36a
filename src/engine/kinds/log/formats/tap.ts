import type { LogFormat } from '../format.ts';

/** The Test Anything Protocol, as node:test, tape and Perl print it. */
export const tap: LogFormat = [
  { name: 'testing', pattern: /^\s*(?:ok|not ok) \d+\b|^TAP version/ },
  { name: 'trouble', pattern: /\bnot ok\b/i },
  { name: 'detail', pattern: /^\s*not ok\b/ },
  { name: 'detailed', pattern: /^\s*not ok\b/ },
  { name: 'passed', pattern: /^\s*(?:ok \d+\b|# Subtest: )/ },
  { name: 'summary', pattern: /^\s*# (?:tests|pass|fail|skip)/i },
];
