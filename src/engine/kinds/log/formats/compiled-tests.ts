import type { LogFormat } from '../format.ts';

/** Test runners of compiled languages: go test, cargo test, JUnit under Maven and Gradle, GoogleTest, and RSpec. */
export const compiledTests: LogFormat = [
  {
    name: 'testing',
    pattern:
      /^ok\s|^=== (?:RUN|PAUSE|CONT)|^\s*--- (?:PASS|FAIL|SKIP)|^test .*\.\.\. (?:ok|FAILED|ignored)|^\[(?:INFO|ERROR)\] Tests run:/,
  },
  { name: 'detail', pattern: /^\s*--- FAIL|^test .{1,300}\.\.\. FAILED|^---- \S.{0,300} stdout ----/ },
  { name: 'passed', pattern: /^\s*(?:=== (?:RUN|PAUSE|CONT)|--- PASS)|^\[\s*OK\s*\]/ },
  {
    name: 'summary',
    pattern: /^\s*(?:Tests run:|test result:|BUILD (?:SUCCESS|FAILURE|FAILED)|\d+ examples?,)/i,
  },
];
