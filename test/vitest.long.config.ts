import { defineConfig } from 'vitest/config';
import suite, { SLOW } from '../vitest.config.ts';

/** End-to-end tests of keys, which `npm test` runs on a file only. */
const KEYS = ['admin', 'budgets', 'door', 'erase', 'limits', 'projects'].map(
  (name) => `packages/team/test/${name}.test.ts`,
);

/** The page at each width and with a large store, of which `npm test` sees a part. */
const PAGE = 'packages/page/test/browser.test.ts';

/** All encodings, sizes and wires, of which `npm test` runs a few. */
const BOMBS = 'test/http/bombs.test.ts';

/** A fault at every system call, of which `npm test` tries some. */
const FAULTS = 'test/store/failing-file.test.ts';

/** The walk of the lane against the dialects on 100,000 bodies, of which `npm test` reads some. */
const WALK = 'test/wires/json/walk.test.ts';

/** Servers that are killed, flooded and raced against each other: minutes of work that `npm test` leaves out. */
export default defineConfig({
  resolve: suite.resolve,
  test: {
    ...suite.test,
    include: ['test/**/*.long.ts', 'packages/*/test/**/*.long.ts', ...KEYS, PAGE, BOMBS, FAULTS, WALK, ...SLOW],
    exclude: ['test/clients/**', '**/node_modules/**'],
    env: { MCP_PRUNER_TEST_KEYS_ON: 'postgres', MCP_PRUNER_TEST_LONG: 'true' },
  },
});
