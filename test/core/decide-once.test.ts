import { describe, expect, it } from 'vitest';
import type { Store } from '../../src/core/ports.ts';
import { manualClock, openPruner, openStore, TTL_MS } from '../helpers/rewriter.ts';
import { serverLog } from '../helpers/texts.ts';

const input = {
  text: serverLog(200),
  goalHint: 'which payment failed',
  options: { maxPruneRatio: 0.9, minKeepLines: 5, timeoutMs: 10_000, annotateLines: false, includeMarkers: true },
};

/** A store that counts what it is asked. */
function counted(store: Store): { readonly store: Store; readonly asked: string[] } {
  const asked: string[] = [];
  const watched = new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]): unknown => {
        if (name !== 'epoch') asked.push(String(name));
        return Reflect.apply(value, target, args);
      };
    },
  });
  return { store: watched, asked };
}

describe('a decision about a call', () => {
  it('is replayed from memory for a limited time, and then read from the store again', async () => {
    const clock = manualClock();
    const { store, asked } = counted(openStore(':memory:', clock));
    const pruner = openPruner(store, {}, clock);
    const first = await pruner.pruneText(input);
    expect(asked.splice(0)).toEqual(['lookUp', 'pack', 'commit']);
    const again = await pruner.pruneText(input);
    expect(asked.splice(0)).toEqual([]);
    expect(again.prunedText).toBe(first.prunedText);
    clock.now += TTL_MS / 8;
    expect((await pruner.pruneText(input)).prunedText).toBe(first.prunedText);
    expect(asked).toEqual(['lookUp']);
  });

  it('is made again the next time if it ran out of time', async () => {
    const pruner = openPruner(openStore());
    const hurried = await pruner.pruneText({ ...input, options: { ...input.options, timeoutMs: -1 } });
    expect(hurried).toMatchObject({ prunedText: input.text, warnings: ['timeout'] });
    expect(
      await pruner.recover({ pruneId: hurried.pruneId, ranges: [{ startLine: 1, endLine: 1 }], numbered: false }),
    ).toBe(input.text.split('\n', 1)[0]);
    expect((await pruner.pruneText(input)).annotations.length).toBeGreaterThan(0);
  });

  it('is the one stored first if another store client has made it in the meantime', async () => {
    const store = openStore();
    const first = await openPruner(store).pruneText(input);
    let hidden = true;
    const late = new Proxy(store, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name);
        if (name !== 'findDecisions' || typeof value !== 'function') {
          return typeof value === 'function' ? value.bind(target) : value;
        }
        // at first sight nothing is there yet
        return async (...args: unknown[]): Promise<unknown> => {
          if (!hidden) return Reflect.apply(value, target, args);
          hidden = false;
          return new Map();
        };
      },
    });
    const { prunedText, pruneId } = await openPruner(late).pruneText(input);
    expect({ prunedText, pruneId }).toEqual({ prunedText: first.prunedText, pruneId: first.pruneId });
  });
});
