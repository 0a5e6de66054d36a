import { describe, expect, it } from 'vitest';
import { keepTask, receivedResults } from '../../src/app/recall-task.ts';
import { textHash } from '../../src/core/hash.ts';
import { Archiving } from '../../src/core/recall/archiving.ts';
import { keptId } from '../../src/core/recall/kept-text.ts';
import { Recall } from '../../src/core/recall/recall.ts';
import { MAX_WAITING_RESULTS } from '../../src/core/recall/waiting.ts';
import { type KeptResults, ResultWriter } from '../../src/core/recall/writer.ts';
import { packText } from '../../src/store/text-codec.ts';
import { manualClock, openStore } from '../helpers/rewriter.ts';

const MINUTE_MS = 60_000;

/** Results of a conversation as a request brings them. */
function results(conversationId: string, texts: readonly string[], ordinal = 1): KeptResults {
  return {
    ...{ project: 'default', task: '', conversationId, isOwned: false, atMs: 1_700_000_000_000 },
    results: texts.map((text, i) => {
      const hash = textHash(text);
      const of = { tool: 'bash', path: '', about: 'run', call: '' };
      return { text, hash, pruneId: keptId(hash), ordinal: ordinal + i, ...of };
    }),
  };
}

const text = (word: string): string => `${word} failed in the payment service\n`.repeat(60);

function archive() {
  const clock = manualClock();
  const store = openStore(':memory:', clock);
  const writer = new ResultWriter({ store, keepsAll: true, pack: packText });
  const archiving = new Archiving(store, clock);
  const keep = async (kept: KeptResults): Promise<void> => {
    await writer.write(kept);
    archiving.brought(kept);
  };
  const settle = async (): Promise<number | null> => {
    for (;;) {
      const nextMs = await archiving.step();
      if (nextMs === null || nextMs > 100) return nextMs;
    }
  };
  const waiting = async () => (await store.recall.waiting({ project: 'default' }, 1_000)).length;
  const recall = new Recall({ store: store.recall, flush: () => Promise.resolve(), indexes: true });
  const find = async (query: string) =>
    (await recall.search({ query, scope: 'project', limit: 5, project: 'default', task: '' })).hits;
  return { clock, store, keep, settle, waiting, find };
}

describe('archiving of results', () => {
  it('indexes a result once its conversation was idle for a minute; until then, searches read it directly', async () => {
    const { clock, keep, settle, waiting, find } = archive();
    await keep(results('c1', [text('zebra'), text('lion')]));
    await settle();
    expect(await waiting()).toBe(2);
    expect(await find('zebra')).toHaveLength(1);
    clock.now += MINUTE_MS / 2;
    await keep(results('c2', [text('tiger')]));
    clock.now += MINUTE_MS / 2;
    await settle();
    expect(await waiting()).toBe(1);
    clock.now += MINUTE_MS / 2 + 1_000;
    expect(await settle()).toBe(null);
    expect(await waiting()).toBe(0);
    expect(await find('tiger')).toHaveLength(1);
  });

  it('leaves at most as many results of a running conversation unindexed as searches can read', async () => {
    const { keep, settle, waiting } = archive();
    for (let i = 0; i < 8; i++) {
      const texts = Array.from({ length: 40 }, (_, k) => text(`word${i}x${k}`));
      await keep(results('c1', texts, 1 + 40 * i));
    }
    await settle();
    expect(await waiting()).toBe(MAX_WAITING_RESULTS);
  });

  it('leaves all results of a running conversation unindexed while searches can read them directly', async () => {
    const { keep, settle, waiting, find } = archive();
    const texts = Array.from({ length: MAX_WAITING_RESULTS }, (_, k) => text(k === 0 ? 'zebra' : `word${k}`));
    await keep(results('c1', texts));
    await settle();
    expect(await waiting()).toBe(MAX_WAITING_RESULTS);
    const [oldest] = await find('payment zebra');
    expect(oldest?.text).toContain('zebra');
  });

  it('indexes everything that an earlier process left behind', async () => {
    const { keep, store, clock, waiting } = archive();
    await keep(results('c1', [text('zebra')]));
    expect(await store.recall.isBehind()).toBe(true);
    const next = new Archiving(store, clock);
    while ((await next.step()) === 10);
    expect(await waiting()).toBe(0);
    expect(await store.recall.isBehind()).toBe(false);
  });

  it('merges the index only after ten seconds without activity', async () => {
    const clock = manualClock();
    const steps: string[] = [];
    const recall = {
      index: () => Promise.resolve(false),
      merge: () => {
        steps.push(`merge at ${clock.now - 1_700_000_000_000}`);
        return Promise.resolve(false);
      },
    };
    const archiving = new Archiving({ recall, pack: () => Promise.resolve(false) }, clock);
    archiving.brought({ conversationId: 'c1', results: [] });
    expect(await archiving.step()).toBe(10_000);
    clock.now += 10_000;
    expect(await archiving.step()).toBe(50_000);
    clock.now += 50_000;
    expect(await archiving.step()).toBe(null);
    expect(steps).toEqual(['merge at 10000', 'merge at 60000']);
  });

  it('counts words of unindexed results, so that rare words weigh more before anything is indexed', async () => {
    const { keep, find } = archive();
    const common = Array.from({ length: 12 }, (_, i) => text(`common${i}`).replaceAll('service', 'service gateway'));
    await keep(results('c1', [...common, text('zebra')]));
    const [first] = await find('gateway zebra');
    expect(first?.text).toContain('zebra');
  });
});

describe('texts for the recall thread', () => {
  it('arrive unchanged, lone surrogates included', () => {
    const kept = results('c1', ['plain', 'Grüße 🛒', `lone \ud83d surrogate`, '']);
    expect(receivedResults(keepTask(1, kept))).toEqual(kept);
  });
});
