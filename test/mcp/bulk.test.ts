import { describe, expect, it } from 'vitest';
import { openPruner, openStore } from '../helpers/rewriter.ts';
import { serverLog } from '../helpers/texts.ts';
import { ask, logArgs, startProduct } from './helpers/product.ts';

const env = { MCP_PRUNER_ENABLE: 'bulk' };

interface Pruned {
  readonly prune_id: string;
  readonly pruned_text: string;
  readonly stats: { readonly elapsed_ms: number };
}

describe('prune_batch', () => {
  it('returns the result of prune_text for each entry, in order', async () => {
    const proxy = await startProduct(env);
    const entries = [logArgs(1), logArgs(2), logArgs(1), { ...logArgs(3), text: '' }];
    const { results } = await ask<{ results: Pruned[] }>(proxy, 'prune_batch', { entries });
    expect(results).toHaveLength(4);
    for (const [i, entry] of entries.entries()) {
      const alone = await ask<Pruned>(proxy, 'prune_text', entry);
      const { elapsed_ms: _, ...stats } = results[i]?.stats ?? { elapsed_ms: 0 };
      expect({ ...results[i], stats }).toMatchObject({ ...alone, stats });
    }
    expect(await proxy.recover(results[1]?.prune_id ?? '', 1, 300)).toBe(logArgs(2).text.replace(/\n$/, ''));
  });

  it('accepts only 1 to 100 entries, and checks all of them before any is processed', async () => {
    const proxy = await startProduct(env);
    const bad = { ...logArgs(2), options: { ...logArgs(2).options, max_prune_ratio: 2 } };
    for (const [args, field] of [
      [{ entries: [] }, 'entries'],
      [{ entries: Array.from({ length: 101 }, () => ({})) }, 'entries'],
      [{ entries: [logArgs(1), bad] }, 'entries[1].options.max_prune_ratio'],
      [{ entries: [logArgs(1)], more: 1 }, 'more'],
    ] as const) {
      const { error } = await proxy.call('prune_batch', args);
      expect(error).toMatchObject({ code: -32602, data: { issues: [{ field }] } });
    }
    const { events } = await ask<{ events: { kind: string }[] }>(
      await startProduct({ MCP_PRUNER_ENABLE: 'events-bus' }, proxy.dbPath),
      'events_watch',
    );
    expect(events.map(({ kind }) => kind).filter((kind) => kind !== 'settings_changed')).toEqual([]);
  });

  it('keeps none of the originals if the store refuses one of them', async () => {
    const store = openStore();
    const failures: string[] = [];
    const inputs = [1, 2].map((seed) => ({
      text: serverLog(300, seed),
      goalHint: 'which payment failed',
      options: { maxPruneRatio: 0.9, minKeepLines: 5, timeoutMs: 10_000, annotateLines: false, includeMarkers: true },
    }));
    const options = { maxInputChars: 2_000_000, onFailure: (reason: string) => failures.push(reason) };
    const apart = openPruner(openStore(), options);
    const [first, second] = await apart.pruneAll(inputs);

    // Another text stands behind the id of the second one.
    const taken = await apartDecision(second?.pruneId ?? '');
    await store.commit({ decisions: [taken], touch: [] }, 0);
    await expect(openPruner(store, options).pruneAll(inputs)).rejects.toMatchObject({
      code: 'recovery_unavailable',
      details: { hint: expect.stringContaining('nothing was pruned') },
    });
    expect(await store.findOriginal(first?.pruneId ?? '')).toBeNull();
    expect(await store.findOriginal(second?.pruneId ?? '')).toBe('another text');

    // And when it cannot be written at all.
    const broken = openStore();
    await broken.close();
    await expect(openPruner(broken, options).pruneAll(inputs)).rejects.toMatchObject({
      code: 'recovery_unavailable',
    });
    expect(failures).toEqual(['store_closed']);
  });
});

async function apartDecision(pruneId: string) {
  const { aPrune } = await import('../contract/store.suite.ts');
  return aPrune('other', 'another text', { pruneId });
}

describe('recover_batch', () => {
  it('returns the result of recover_text for each entry, in order', async () => {
    const proxy = await startProduct(env);
    const ids = [];
    for (const seed of [1, 2]) ids.push((await ask<Pruned>(proxy, 'prune_text', logArgs(seed))).prune_id);
    const entries = ids.map((prune_id, i) => ({
      prune_id,
      ranges: [{ start_line: 2, end_line: 4 + i }],
      include_line_numbers: i === 0,
    }));
    const { results } = await ask<{ results: unknown[] }>(proxy, 'recover_batch', { entries });
    const alone = [];
    for (const entry of entries) alone.push(await ask(proxy, 'recover_text', entry));
    expect(results).toEqual(alone);
  });

  it('returns no originals if one is unrecoverable, and names it', async () => {
    const proxy = await startProduct(env);
    const { prune_id } = await ask<Pruned>(proxy, 'prune_text', logArgs(1));
    const good = { prune_id, ranges: [{ start_line: 1, end_line: 2 }], include_line_numbers: false };
    expect(await proxy.call('recover_batch', { entries: [good, { ...good, prune_id: 'prn_gone' }] })).toMatchObject({
      error: { code: -32004, message: 'prune_id_not_found', data: { index: 1, prune_id: 'prn_gone' } },
    });
    const backwards = { ...good, ranges: [{ start_line: 3, end_line: 2 }] };
    expect(await proxy.call('recover_batch', { entries: [good, good, backwards] })).toMatchObject({
      error: { code: -32005, message: 'invalid_range', data: { index: 2 } },
    });
    expect(await proxy.call('recover_batch', { entries: [] })).toMatchObject({ error: { code: -32602 } });
  });
});
