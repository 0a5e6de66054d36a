import type { ToolResultCase } from './case.ts';
import { compilers } from './cases/compilers.ts';
import { diffs } from './cases/diffs.ts';
import { docs } from './cases/docs.ts';
import { json } from './cases/json.ts';
import { listings } from './cases/listings.ts';
import { numbered } from './cases/numbered.ts';
import { packageLogs } from './cases/package-logs.ts';
import { search } from './cases/search.ts';
import { secondSet } from './cases/second-set.ts';
import { secondSetLookups } from './cases/second-set-lookups.ts';
import { serviceLogs } from './cases/service-logs.ts';
import { sourceCode } from './cases/source-code.ts';
import { stackTraces } from './cases/stack-traces.ts';
import { tables } from './cases/tables.ts';
import { testRuns } from './cases/test-runs.ts';

/** Every case of the set. */
export const cases: readonly ToolResultCase[] = [
  ...sourceCode,
  ...compilers,
  ...testRuns,
  ...serviceLogs,
  ...packageLogs,
  ...stackTraces,
  ...search,
  ...diffs,
  ...listings,
  ...json,
  ...tables,
  ...docs,
  ...numbered,
  ...secondSet,
  ...secondSetLookups,
];
