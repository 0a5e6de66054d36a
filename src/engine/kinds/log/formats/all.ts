import type { LogFormat } from '../format.ts';
import { assertions } from './assertions.ts';
import { builds } from './builds.ts';
import { compiledTests } from './compiled-tests.ts';
import { compilers } from './compilers.ts';
import { githubActions } from './github-actions.ts';
import { jsTests } from './js-tests.ts';
import { klog } from './klog.ts';
import { logfmt } from './logfmt.ts';
import { plainFailures } from './plain-failures.ts';
import { pythonTests } from './python-tests.ts';
import { stamps } from './stamps.ts';
import { tap } from './tap.ts';
import { traces } from './traces.ts';

/** All output formats. A new format is a file and a row here. */
export const FORMATS: Readonly<Record<string, LogFormat>> = {
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
