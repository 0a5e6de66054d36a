import type { LogFormat } from '../format.ts';
import { assertions } from './assertions.ts';
import { compiledTests } from './compiled-tests.ts';
import { compilers } from './compilers.ts';
import { jsTests } from './js-tests.ts';
import { pythonTests } from './python-tests.ts';
import { tap } from './tap.ts';
import { traces } from './traces.ts';

/** The prefix of GitHub's runner: the time, and in `gh run view --log` also the job and the step. */
const STAMP = /(?:[^\t]*\t[^\t]*\t)?\ufeff?\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{7}Z ?/.source;
const ANCHOR = /(?<![[\\])\^/g;

/** Applies another format's rows after the runner's prefix. */
function behindStamp(rows: LogFormat): LogFormat {
  return rows
    .filter(({ name, pattern }) => name !== 'trace-end' && pattern.source.startsWith('^'))
    .map(({ name, pattern: { source, flags } }) => ({
      name,
      unmerged: true,
      pattern: new RegExp(
        source.replaceAll(ANCHOR, () => `^${STAMP}`),
        flags,
      ),
    }));
}

/** GitHub Actions logs: a timestamp on every line, groups for steps, annotations. */
export const githubActions: LogFormat = [
  { name: 'stamped', pattern: /^[^\t]*\t[^\t]*\t\ufeff?\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{7}Z / },
  { name: 'stamped', pattern: /^##\[(?:group|endgroup|error|warning|notice|debug)\]/ },
  { name: 'step', pattern: /##\[group\]|::group::/ },
  { name: 'failure', pattern: /##\[error\]/ },
  { name: 'warm', pattern: /##\[warning\]/ },
  { name: 'summary', pattern: /\bProcess completed with exit code/i },
  ...behindStamp([assertions, tap, jsTests, pythonTests, compiledTests, compilers, traces].flat()),
];
