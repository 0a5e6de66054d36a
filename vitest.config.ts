import { defineConfig } from 'vitest/config';
import { aliases } from './build/aliases.mjs';

/** Files that start dozens of processes, one after the other; `npm run test:long` runs them. */
export const SLOW = [
  'packages/agents/test/run.test.ts',
  'test/http/process.test.ts',
  'packages/stdio/test/lifetime.test.ts',
  'test/store/postgres-replicas.test.ts',
];

export default defineConfig({
  resolve: { alias: aliases },
  test: {
    include: ['test/**/*.test.ts', 'packages/*/test/**/*.test.ts'],
    exclude: ['test/clients/**', '**/node_modules/**', ...SLOW],
    globalSetup: ['test/helpers/global-setup.ts'],
    setupFiles: ['test/helpers/setup.ts'],
    testTimeout: 300_000, // many times what the longest takes on a machine with nothing else to do
    hookTimeout: 60_000,
    expect: { poll: { timeout: 30_000, interval: 40 } }, // as patient as the tests' own helpers
    // Test files share what they import: half of the CPU of a run went into loading it anew for each of them.
    isolate: false,
    // Transformed modules are kept in node_modules, by a hash of their content: a run spends 8 s of CPU less.
    experimental: { fsModuleCache: true },
    maxWorkers: 3, // many tests wait; with four, two cores are no faster
  },
});
