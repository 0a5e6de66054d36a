import { expect, it } from 'vitest';
import { requestIds } from '../../src/app/context.ts';

it('request ids ascend, whatever the clock does', () => {
  let nowMs = 0;
  const next = requestIds({ nowMs: () => nowMs });
  const ids: string[] = [];
  for (const at of [0, 0, 0.5, 1_000, 999, 1_000, 5_000, 4_000, 5_001]) {
    nowMs = at;
    ids.push(next());
  }
  expect(ids.toSorted()).toEqual(ids);
  expect(new Set(ids).size).toBe(ids.length);
  for (const id of ids) expect(id).toMatch(/^[0-7][0-9A-HJKMNP-TV-Z]{25}$/);
});
