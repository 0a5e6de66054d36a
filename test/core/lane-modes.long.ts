import { spawnSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { projectRoot } from '../helpers/project-files.ts';
import type { LaneMode } from '../helpers/rewriter.ts';

/** Tests of the bytes that are forwarded. */
const SUITES = ['test/core', 'test/wires'];

it.each<LaneMode>(['serves', 'off'])(
  'all tests of forwarded bytes pass with the lane %s',
  (mode) => {
    const { status, stdout } = spawnSync(process.execPath, ['node_modules/vitest/vitest.mjs', 'run', ...SUITES], {
      cwd: projectRoot,
      env: { ...process.env, MCP_PRUNER_TEST_LANE: mode, MCP_PRUNER_TEST_LONG: '' },
      encoding: 'utf8',
    });
    expect(status, stdout.slice(-4_000)).toBe(0);
  },
  900_000,
);
