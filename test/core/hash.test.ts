import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fingerprint, keyOf, pruneIdOf, pruneIdsIn, textHash } from '../../src/core/hash.ts';
import { cpuMs } from '../helpers/cpu-time.ts';

const anyText = fc
  .array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 40 })
  .map((units) => String.fromCharCode(...units));

describe('textHash', () => {
  it('distinguishes any two texts, including lone surrogates', () => {
    fc.assert(
      fc.property(anyText, anyText, (a, b) => {
        expect(textHash(a) === textHash(b)).toBe(a === b);
      }),
    );
    expect(new Set(['\ud800', '\ud801', '\udc00', '\ufffd', ''].map(textHash)).size).toBe(5);
  });
});

describe('keyOf', () => {
  it('distinguishes lists whose parts are divided differently', () => {
    expect(keyOf('ab', 'c')).not.toBe(keyOf('a', 'bc'));
    expect(keyOf('a', '')).not.toBe(keyOf('a'));
    expect(keyOf('\ud800')).not.toBe(keyOf('\ufffd'));
  });
});

describe('pruneIdOf', () => {
  it('is prn_ and 12 characters of base 32, derived from the key alone', () => {
    fc.assert(
      fc.property(fc.string(), (key) => {
        expect(pruneIdOf(key)).toMatch(/^prn_[0-9A-HJKMNP-TV-Z]{12}$/);
        expect(pruneIdOf(key)).toBe(pruneIdOf(key));
      }),
    );
  });

  // Released ids stand in conversations and in stores: they may never come out otherwise.
  it('never changes between versions', () => {
    expect(pruneIdOf(keyOf('proxy', textHash('text'), 'goal'))).toBe('prn_2R7KS6WYF44F');
  });
});

describe('fingerprint', () => {
  it('is the same for texts that differ only in volatile values', () => {
    const at = (time: string, pid: number) => `${time} build ${pid} done in ${pid * 2}ms at 0x${pid.toString(16)}1\n`;
    expect(fingerprint(at('10:00:01', 123))).toBe(fingerprint(at('23:59:59', 99)));
  });

  it('differs if a word, a character or the order differs', () => {
    const prints = ['error in a.ts', 'error in b.ts', 'error in a_ts', 'a.ts in error', 'error in a.ts '].map(
      fingerprint,
    );
    expect(new Set(prints).size).toBe(prints.length);
  });

  it('accepts any text, and takes time proportional to its length', () => {
    fc.assert(fc.property(anyText, (text) => void fingerprint(text)));
    const startedAt = cpuMs();
    fingerprint('a'.repeat(2_000_000));
    fingerprint('1'.repeat(2_000_000));
    fingerprint('a1 '.repeat(700_000));
    expect(cpuMs() - startedAt).toBeLessThan(1_000);
  });
});

describe('pruneIdsIn', () => {
  const id = 'prn_0123456789AB';

  it('finds the ids that markers name, each once', () => {
    expect(pruneIdsIn(`x ⟦PRUNÉ: prune_id=${id} lignes 1-2⟧ prune_id=${id} prune_id=prn_ZZZZZZZZZZZZ`)).toEqual([
      id,
      'prn_ZZZZZZZZZZZZ',
    ]);
  });

  it.each([
    'prune_id=',
    'prune_id=prn_',
    'prune_id=prn_01234567890',
    'prune_id=prn_0123456789AU',
    'prune_id=prn_0123456789ab',
    'prune_id=xxx_0123456789AB',
  ])('ignores %s', (text) => expect(pruneIdsIn(text)).toEqual([]));

  it('stops at its limit', () => {
    const text = Array.from({ length: 900 }, (_, i) => `prune_id=prn_${String(i).padStart(12, '0')}`).join(' ');
    expect(pruneIdsIn(text)).toHaveLength(256);
  });
});
