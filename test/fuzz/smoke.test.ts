import { expect, it } from 'vitest';
import { makeCase } from '../../bench/fuzz/cases.ts';
import { Ground } from '../../bench/fuzz/ground.ts';
import { caseSeed } from '../../bench/fuzz/random.ts';
import { runCase } from '../../bench/fuzz/run-case.ts';
import { afterwards, tempFolder } from '../helpers/afterwards.ts';

const CASES = 50;

it('all invariants hold for a few random conversations, texts and calls from a fixed seed', async () => {
  const ground = new Ground(tempFolder());
  afterwards(() => ground.close());
  for (let index = 0; index < CASES; index++) {
    expect(await runCase(makeCase(caseSeed(1, index)), ground), `case ${index} of seed 1`).toBeNull();
  }
});
