import { Recall } from '@mcp-pruner/recall/recall.ts';
import { describe, expect, it } from 'vitest';
import { textHash } from '../../src/core/hash.ts';
import { keptText } from '../../src/core/kept-text.ts';
import type { LedgerTurn } from '../../src/core/ports/ledger.ts';
import type { NotedResult, RecallAnswer, RecallInput } from '../../src/core/ports/recall.ts';
import type { StoreHandle } from '../../src/store/handle.ts';
import { aTurn } from './ledger-store.suite.ts';
import { aBatch, aSegment, type Open } from './segments.suite.ts';
import { manualClock } from './store.suite.ts';

/** Lines about one thing, long enough to be kept. */
export function aResult(about: string, lines = 40): string {
  return Array.from({ length: lines }, (_, i) => `${i}: some ordinary line of a result about ${about}`).join('\n');
}

/** Keeps a result as the proxy does. @returns its prune id */
export async function keep(store: StoreHandle, text: string, over: Partial<NotedResult> = {}): Promise<string> {
  const kept = keptText(text, textHash(text), over.tool ?? 'read_file');
  const pruneId = kept.decision.pruneId ?? '';
  await store.commit({ decisions: [kept], touch: [] }, 1_000);
  const path = over.path ?? 'src/a.ts';
  const noted = {
    project: 'p',
    conversationId: 'c',
    task: '',
    ordinal: 1,
    pruneId,
    tool: 'read_file',
    path,
    about: path,
  };
  await store.recall.keep([], [{ ...noted, call: '', chars: text.length, atMs: 1_700_000_000_000, ...over }]);
  return pruneId;
}

export function search(store: StoreHandle, query: string, over: Partial<RecallInput> = {}): Promise<RecallAnswer> {
  const recall = new Recall({ store: store.recall, flush: async () => {} });
  return recall.search({ query, scope: 'project', limit: 8, project: 'p', task: '', ...over });
}

const idsOf = ({ hits }: RecallAnswer): string[] => hits.map(({ prune_id }) => prune_id);

/** What searching the results of any store must do. */
export function recallContract(name: string, open: Open): void {
  describe(`recall in ${name}`, () => {
    it('finds a result by words in any order, case or separators', async () => {
      const store = await open({});
      const text = `${aResult('fish')}\nexport function getUserName(id) {}\n${aResult('birds')}`;
      const id = await keep(store, text);
      await keep(store, aResult('something else'), { path: 'other.md' });
      const queries = ['get_user_name', 'GETUSERNAME', 'name of the User', 'sernam', 'SRC/A.TS', 'birds'];
      for (const query of queries) expect([query, idsOf(await search(store, query))[0]]).toEqual([query, id]);
      expect(await search(store, 'zebrafish')).toMatchObject({ hits: [], more: false, hint: expect.any(String) });
      expect(await search(store, '')).toMatchObject({ hits: [], hint: expect.any(String) });
      for (const query of [
        '"',
        "'",
        'a AND',
        'NEAR(',
        '*',
        '%_\\',
        '\0 user',
        '^x:y',
        '§1',
        '🦓',
        'x'.repeat(20_000),
      ]) {
        expect((await search(store, query)).scope).toBe('project');
      }
    });

    it('returns lines verbatim, numbered as by recover_text, at most 40 in all', async () => {
      const store = await open({});
      const texts = Array.from({ length: 60 }, (_, i) => aResult(`needle ${i}`));
      for (const [i, text] of texts.entries()) await keep(store, text, { path: `${i}.ts`, ordinal: i });
      for (const limit of [1, 8, 50]) {
        const { hits, more } = await search(store, 'needle', { limit });
        expect(hits).toHaveLength(Math.min(limit, 40));
        expect(more).toBe(true);
        let lines = 0;
        for (const { prune_id, lines: range, text, score } of hits) {
          const [from = 0, to = 0] = range.split('-').map(Number);
          const original = await store.findOriginal(prune_id);
          expect(text).toBe(
            original
              ?.split('\n')
              .slice(from - 1, to)
              .join('\n'),
          );
          expect(score).toBeGreaterThan(0);
          lines += to - from + 1;
        }
        expect(lines).toBeLessThanOrEqual(40);
        expect(hits.map(({ score }) => score)).toEqual(hits.map(({ score }) => score).sort((a, b) => b - a));
      }
    });

    it('counts words within a project, also while only one project has results', async () => {
      const store = await open({});
      await keep(store, aResult('needle'));
      const countOf = async (project: string): Promise<[number, number]> => {
        const query = { project, terms: new Map([['needle', false]]), files: [], limit: 1 };
        const { results, withTerm } = await store.recall.find(query);
        return [results, withTerm.get('needle') ?? 0];
      };
      expect(await countOf('other')).toEqual([0, 0]);
      expect(await countOf('p')).toEqual([1, 1]);
      await keep(store, aResult('needle again'), { project: 'other' });
      expect(await countOf('p')).toEqual([1, 1]);
      expect(await countOf('other')).toEqual([1, 1]);
    });

    it('shows each content once in a project, with the tool and the path of its newest call', async () => {
      const store = await open({});
      const id = await keep(store, aResult('needle'), { path: 'old.ts', tool: 'cat', atMs: 1_000 });
      await keep(store, aResult('needle'), { path: 'new.ts', tool: 'view', ordinal: 5, atMs: 2_000 });
      const { hits } = await search(store, 'needle');
      expect(hits).toEqual([
        expect.objectContaining({ prune_id: id, path: 'new.ts', tool: 'view', when: new Date(2_000).toISOString() }),
      ]);
      expect(idsOf(await search(store, 'new.ts'))).toEqual([id]);
      expect(idsOf(await search(store, 'old'))).toEqual([]);
    });

    it('marks superseded results, and lists them after their successors', async () => {
      const store = await open({});
      const old = await keep(store, `${aResult('needle')}\nneedle needle needle`, { call: 'k', ordinal: 1 });
      const now = await keep(store, `${aResult('haystack')}\nneedle`, { call: 'k', ordinal: 3 });
      const { hits } = await search(store, 'needle');
      expect(hits.map(({ prune_id, superseded }) => [prune_id, superseded])).toEqual([
        [now, undefined],
        [old, true],
      ]);
      // the same history seen again changes nothing, the same text in a later message does
      await keep(store, `${aResult('needle')}\nneedle needle needle`, { call: 'k', ordinal: 1 });
      expect((await search(store, 'needle')).hits[0]).not.toHaveProperty('superseded');
      expect(idsOf(await search(store, 'needle'))[0]).toBe(now);
      await keep(store, `${aResult('needle')}\nneedle needle needle`, { call: 'k', ordinal: 7 });
      expect(idsOf(await search(store, 'needle'))).toEqual([old, now]);
    });

    it('keeps projects apart, and filters by conversation, tool and path', async () => {
      const store = await open({});
      const mine = await keep(store, aResult('needle one'), {
        path: '/repo/src/deep/a.ts',
        task: 't',
        conversationId: 'c1',
      });
      const other = await keep(store, aResult('needle two'), {
        tool: 'mcp__x__grep',
        path: 'b.md',
        conversationId: 'c2',
      });
      const theirs = await keep(store, aResult('needle three'), { project: 'q' });
      const shared = await keep(store, aResult('needle four'), { path: 'b.md', conversationId: 'c2' });
      await keep(store, aResult('needle four'), { project: 'q' });
      const found = async (over: Partial<RecallInput>) => new Set(idsOf(await search(store, 'needle', over)));
      expect(await found({})).toEqual(new Set([mine, other, shared]));
      expect(await found({ project: 'q' })).toEqual(new Set([theirs, shared]));
      expect(await found({ project: 'nobody' })).toEqual(new Set());
      for (const path of ['/repo/src/deep/a.ts', 'deep/a.ts', '**/*.ts', 'src/**', '*.ts', '*.{ts,js}']) {
        expect([path, await found({ path })]).toEqual([path, new Set([mine])]);
      }
      for (const tool of ['mcp__x__grep', 'grep', 'mcp__*']) expect(await found({ tool })).toEqual(new Set([other]));
      expect(await found({ path: 'nothing' })).toEqual(new Set());
      expect(await found({ scope: 'conversation', task: 't' })).toEqual(new Set([mine]));
      expect(await found({ scope: 'conversation', task: 'c2' })).toEqual(new Set([other, shared]));
      const answer = await search(store, 'needle', { scope: 'conversation' });
      expect([answer.scope, idsOf(answer).length]).toEqual(['project', 3]);
    });

    it('no longer finds a deleted text, and finds it once when it is kept again', async () => {
      const store = await open({});
      const text = aResult('needle');
      const id = await keep(store, text);
      await store.segments.note([aBatch([aSegment('seg_1', { pruneIds: [id] })])]);
      const directive = { segment: 'seg_1', action: 'delete' as const, scope: '', upTo: -1 };
      await store.segments.change({ project: 'p', set: [directive], clear: [] });
      expect(idsOf(await search(store, 'needle'))).toEqual([]);
      expect(await store.findOriginal(id)).toBeNull();
      await keep(store, text);
      expect(idsOf(await search(store, 'needle'))).toEqual([id]);
    });

    it('finds results after the next start, and forgets expired ones', async () => {
      const clock = manualClock();
      const store = await open({ clock });
      const id = await keep(store, aResult('needle'));
      const next = await open({ clock, beside: store });
      expect(idsOf(await search(next, 'needle'))).toEqual([id]);
      clock.now += 80_000;
      expect(idsOf(await search(next, 'needle'))).toEqual([]);
      while (await next.sweep());
      const query = { project: 'p', terms: new Map([['needle', false]]), files: [], limit: 1 };
      expect((await next.recall.find(query)).results).toBe(0);
    });

    it('records a compaction and its retries once, and links the continuing conversation of the project', async () => {
      const { compactions } = await open({});
      const one = {
        project: 'p',
        continues: 'a',
        client: 'codex',
        product: 'codex_exec',
        model: 'm',
        session: 's',
        tokens: 9,
        atMs: 1_000,
      };
      expect([await compactions.add(one), await compactions.add({ ...one, atMs: 2_000 })]).toEqual([true, false]);
      const by = { project: 'p', session: 's', conversation: 'b', atMs: 3_000 };
      expect(await compactions.follow({ ...by, project: 'q' })).toBeNull();
      expect(await compactions.follow({ ...by, session: 'other' })).toBeNull();
      expect([await compactions.follow(by), await compactions.follow(by)]).toEqual(['a', null]);
      expect(await compactions.add({ ...one, atMs: 4_000 })).toBe(true);
      expect(await compactions.follow({ ...by, session: '', conversation: 'c', atMs: 5_000 })).toBe('a');
      const listed = await compactions.since({ sinceMs: 0, project: 'p' });
      expect(listed).toEqual([
        { ...one, conversation: 'b' },
        { ...one, atMs: 4_000, conversation: 'c' },
      ]);
      expect(await compactions.since({ sinceMs: 0, project: 'q' })).toEqual([]);
      expect(await compactions.peaks({ sinceMs: 0, limit: 10 })).toEqual([]);
      expect(await compactions.cold({ sinceMs: 0 })).toEqual({
        requests: 0,
        usd: 0,
        hour_cache: { cost: 0, saved: 0 },
      });
    });

    it('reports the lengths of conversations and the cost of their pauses', async () => {
      const store = await open({});
      const turn = (requestId: string, atMs: number, read: number, over: Partial<LedgerTurn> = {}): LedgerTurn => ({
        ...aTurn(requestId, { atMs, project: 'p', conversationId: 'c', model: 'm', client: 'codex_exec' }),
        ...{ fresh: 10, write5m: 100, write1h: 0, read, output: 5, removed: 40, dollars: 1 },
        ...over,
      });
      const minute = 60_000;
      const expired = { miss: 'expired' as const, missTokens: 500, missDollars: 0.5 };
      await store.ledger.add(
        [turn('1', 0, 500), turn('2', 10 * minute, 0, expired), turn('3', 200 * minute, 900, expired)],
        [],
      );
      const [peak] = await store.compactions.peaks({ sinceMs: 0, limit: 5 });
      expect(peak).toMatchObject({ conversationId: 'c', product: 'codex_exec', sent: 1_010, whole: 1_050 });
      const longer = (above: number) => store.compactions.peaks({ sinceMs: 0, limit: 5, above });
      expect(await longer(1_049)).toEqual([peak]);
      expect(await longer(1_050)).toEqual([]);
      const about = { project: 'p', client: 'codex', product: '', model: 'm', session: '', tokens: 900, atMs: 5 };
      await store.compactions.add({ ...about, continues: 'c' });
      expect(await longer(1_050)).toEqual([peak]);
      const { requests, usd, hour_cache } = await store.compactions.cold({ sinceMs: 0, project: 'p' });
      expect([requests, usd, hour_cache.saved]).toEqual([2, 1, 0.5]);
      expect(hour_cache.cost).toBeGreaterThan(0.5);
      expect(hour_cache.cost).toBeLessThan(2);
    });
  });
}
