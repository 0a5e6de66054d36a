import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { goldenBodies } from './bodies.ts';
import type { GoldenResult } from './digest.ts';
import { installedVersions } from './packages.ts';
import { goldenPlans } from './plans.ts';

/**
 * What the engine plans and what the pipeline forwards, as hashes of named cases. `npm run golden` says what differs,
 * `npm run golden -- --write` records it: do so in the commit that changes plans on purpose, and say why there.
 */
const FILE = join(import.meta.dirname, 'hashes.json');

interface Recorded {
  /** Versions of the packages that texts were read from. */
  readonly packages: Readonly<Record<string, string>>;
  /** By name: what is worth knowing at a glance, and the hash. */
  readonly cases: Readonly<Record<string, string>>;
}

const recorded = JSON.parse(readFileSync(FILE, 'utf8')) as Recorded;
const writes = process.env.MCP_PRUNER_GOLDEN === 'write';

it.skipIf(writes)('the packages that provide the texts are installed in the versions of the recorded hashes', () => {
  const remedy = 'run `npm ci`; where the lock file moved on, `npm run golden -- --write` after a look at what differs';
  expect(installedVersions(), remedy).toEqual(recorded.packages);
});

it('plans and forwarded bodies equal the recorded ones, case by case', async () => {
  const cases = casesOf([...goldenPlans(), ...(await goldenBodies())]);
  if (writes) {
    writeFileSync(FILE, `${JSON.stringify({ packages: installedVersions(), cases }, null, 2)}\n`);
    return;
  }
  const names = new Set([...Object.keys(recorded.cases), ...Object.keys(cases)]);
  const differing = [...names].filter((name) => cases[name] !== recorded.cases[name]);
  const listed = differing.map(
    (name) => `${name}: ${recorded.cases[name] ?? 'not recorded'} -> ${cases[name] ?? 'no such case'}`,
  );
  expect(listed, `${differing.length} of ${names.size} cases differ`).toEqual([]);
});

function casesOf(results: readonly GoldenResult[]): Record<string, string> {
  const cases = Object.fromEntries(results.map(({ name, about, hash }) => [name, `${about}: ${hash}`]));
  if (Object.keys(cases).length !== results.length) throw new Error('two cases have the same name');
  return cases;
}
