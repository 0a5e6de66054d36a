import { describe, expect, it } from 'vitest';
import { warmUp } from '../../src/core/decide/warm-up.ts';
import { KINDS, kindNamed } from '../../src/engine/kinds/all.ts';

describe('the warm-up of a process', () => {
  const decisions = [...warmUp()];

  it('decides about one text of each kind', () => {
    expect(decisions.map(({ kind }) => kindNamed(kind))).toEqual(KINDS);
  });

  it('cuts most of them, so that every step of a decision has run', () => {
    expect(decisions.filter(({ cuts }) => cuts.length > 0).length).toBeGreaterThan(4);
  });
});
