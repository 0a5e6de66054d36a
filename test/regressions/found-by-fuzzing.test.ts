import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Case } from '../../bench/fuzz/cases.ts';
import { Ground } from '../../bench/fuzz/ground.ts';
import { runCase } from '../../bench/fuzz/run-case.ts';
import { afterwards, tempFolder } from '../helpers/afterwards.ts';

const folder = join(import.meta.dirname, 'found');

describe('inputs found by the fuzzer no longer violate any guarantee', () => {
  it.each(readdirSync(folder))('%s', async (file) => {
    const ground = new Ground(tempFolder());
    afterwards(() => ground.close());
    const found = JSON.parse(readFileSync(join(folder, file), 'utf8')) as Case;
    expect(await runCase(found, ground)).toBeNull();
  });
});
