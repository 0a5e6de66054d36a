import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Decision, EventRecord, NewDecision, SentMessage, Store } from '../../src/core/ports.ts';

/** What a test sets up a store with. `clock.nowMs` is the test's to move. */
export interface StoreSetup {
  readonly clock: { now: number; nowMs(): number };
  readonly ttlMs: number;
  readonly maxBytes: number;
  readonly conversationShare: number;
  readonly maxEvents: number;
}

/** A clock that stands still until it is set. */
export function manualClock(now = 1_700_000_000_000): StoreSetup['clock'] {
  return {
    now,
    nowMs() {
      return this.now;
    },
  };
}

/** 32 hex digits of a text, as the core hashes originals; lone surrogates count. */
export function hashOf(text: string): string {
  return createHash('sha256').update(Buffer.from(text, 'utf16le')).digest('hex').slice(0, 32);
}

/** A cut decision about a text with everything else made up; `name` makes its key and prune id. */
export function aPrune(name: string, text: string, over: Partial<Decision> = {}): NewDecision {
  const decision: Decision = {
    key: hashOf(`key ${name}`),
    pruneId: pruneIdOf(name),
    textHash: hashOf(text),
    cuts: [{ startLine: 3, endLine: 17, reason: `hors focus: ${name}` }],
    sourceType: 'code',
    kind: 'typescript',
    whole: '',
    warnings: [],
    lines: 20,
    keptLines: 5,
    tokensBefore: 400,
    tokensAfter: 120,
    goal: `find ${name}`,
    tool: 'read_file',
    ...over,
  };
  return { decision, text };
}

/** A decision to leave a text whole. */
export function aWhole(name: string, text: string): NewDecision {
  return aPrune(name, text, { pruneId: null, cuts: [], whole: 'too_little_saved', keptLines: 20 });
}

export function pruneIdOf(name: string): string {
  return `prn_${hashOf(`id ${name}`).slice(0, 12)}`;
}

/** Strings of any UTF-16 units: NUL, lone surrogates, CR, emoji, marker brackets. */
export function anyText(): fc.Arbitrary<string> {
  const units = fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 200 });
  const nasty = fc.constantFrom('\0', '\ud800', '\udc00', '\r\n', '\n', '😀', '⟦PRUNÉ: prune_id=', '\ufeff', 'é', 'a');
  return fc.oneof(
    units.map((codes) => String.fromCharCode(...codes)),
    fc.array(nasty, { maxLength: 60 }).map((parts) => parts.join('')),
    fc.string({ unit: 'grapheme', maxLength: 300 }),
    fc.array(fc.string({ maxLength: 80 }), { maxLength: 200 }).map((lines) => lines.join('\n')),
  );
}

const TTL_MS = 80_000;

/** What any `Store` must do. `open` makes an empty one; the suite closes it. */
export function storeContract(name: string, open: (setup: StoreSetup) => Store | Promise<Store>): void {
  describe(name, () => {
    let clock: StoreSetup['clock'];
    let store: Store;

    beforeEach(async () => {
      clock = manualClock();
      store = await open({ clock, ttlMs: TTL_MS, maxBytes: 100_000_000, conversationShare: 0.001, maxEvents: 100 });
    });

    afterEach(() => store.close());

    const save = async (...decisions: NewDecision[]) => store.commit({ decisions, touch: [] }, 1000);
    const touch = async (...ids: string[]) => store.commit({ decisions: [], touch: ids }, 1000);
    const sweepAll = async () => {
      while (await store.sweep());
    };

    it('returns a decision by its key, and the prune and the original by its id', async () => {
      const item = aPrune('a', 'line 1\nline 2\n');
      expect(await save(item)).toMatchObject({ missing: [], refused: [], known: [] });

      expect(await store.findDecisions([item.decision.key, hashOf('unknown')])).toEqual(
        new Map([[item.decision.key, item.decision]]),
      );
      expect(await store.findPrune(pruneIdOf('a'))).toEqual({
        decision: item.decision,
        createdAtMs: clock.now,
        expiresAtMs: clock.now + TTL_MS,
      });
      expect(await store.findOriginal(pruneIdOf('a'))).toBe('line 1\nline 2\n');
    });

    it('records that a text was left whole, and keeps no copy of it', async () => {
      const item = aWhole('a', 'text');
      await save(item);
      expect((await store.findDecisions([item.decision.key])).get(item.decision.key)).toEqual(item.decision);
      expect(await store.stats()).toMatchObject({ prunes: 0, snapshots: 0 });
    });

    it('returns nothing for unknown ids', async () => {
      expect(await store.findDecisions([hashOf('x')])).toEqual(new Map());
      expect(await store.findPrune('prn_unknown')).toBeNull();
      expect(await store.findOriginal('prn_unknown')).toBeNull();
      expect(await store.findOriginal('\ud800\0')).toBeNull();
      expect(await touch('prn_unknown')).toEqual({ missing: ['prn_unknown'], refused: [], known: [] });
    });

    it('returns every text unchanged, also after compression', async () => {
      let round = 0;
      await fc.assert(
        fc.asyncProperty(fc.array(anyText(), { minLength: 1, maxLength: 5 }), async (texts) => {
          round++;
          const items = texts.map((text, i) => aPrune(`${round}.${i}`, text.repeat(1 + (i % 2) * 40)));
          await save(...items);
          const read = () => Promise.all(items.map(({ decision }) => store.findOriginal(decision.pruneId ?? '')));
          expect(await read()).toEqual(items.map(({ text }) => text));
          await sweepAll();
          expect(await read()).toEqual(items.map(({ text }) => text));
        }),
        { numRuns: 60 },
      );
    });

    it('returns every decision unchanged, whatever its goal and reasons contain', async () => {
      let round = 0;
      await fc.assert(
        fc.asyncProperty(anyText(), anyText(), async (goal, reason) => {
          const cuts = [
            { startLine: 1, endLine: 2, reason },
            { startLine: 5, endLine: 5, reason: '' },
          ];
          const item = aPrune(`goal ${round++}`, 'text', { goal, cuts, tool: reason, warnings: ['timeout'] });
          await save(item);
          const { key, pruneId } = item.decision;
          expect((await store.findDecisions([key])).get(key)).toEqual(item.decision);
          expect((await store.findPrune(pruneId ?? ''))?.decision).toEqual(item.decision);
        }),
        { numRuns: 60 },
      );
    });

    it('stores the same text once, however many prunes refer to it', async () => {
      const text = 'the same file\n'.repeat(500);
      await save(aPrune('a', text), aPrune('b', text));
      await save(aPrune('c', text));
      expect(await store.stats()).toMatchObject({ prunes: 3, snapshots: 1 });
    });

    it('accepts the same decision twice without a change', async () => {
      const item = aPrune('a', 'text');
      await save(item, item);
      const before = await store.stats();
      expect(await save(item)).toMatchObject({ missing: [], refused: [], known: [item.decision.key] });
      expect(await store.stats()).toEqual(before);
    });

    it('replays the first decision under a key, and still recovers lines that a second decision cut', async () => {
      const first = aPrune('a', 'text');
      const second = aPrune('b', 'text', { key: first.decision.key, cuts: [] });
      await save(first);
      await save(second);
      expect((await store.findDecisions([first.decision.key])).get(first.decision.key)).toEqual(first.decision);
      expect((await store.findPrune(pruneIdOf('b')))?.decision).toEqual(second.decision);
      expect(await store.findOriginal(pruneIdOf('b'))).toBe('text');
    });

    it('lets several decisions lead to one prune', async () => {
      const first = aPrune('a', 'text');
      const second = aPrune('b', 'text', { pruneId: pruneIdOf('a') });
      await save(first, second);
      const found = await store.findDecisions([first.decision.key, second.decision.key]);
      expect([...found.values()]).toEqual([first.decision, second.decision]);
      expect(await store.stats()).toMatchObject({ prunes: 1 });
    });

    it('records how a message was sent with its decisions, and keeps the first record', async () => {
      const item = aPrune('a', 'text');
      const { goal: _goal, basis: _basis, ...decision } = item.decision;
      const place = { text: 1, json: [3, 17], start: 5, chars: 40 };
      const sent = {
        prefix: hashOf('messages'),
        annotateLines: true,
        includeMarkers: false,
        texts: [{ ...place, decision }],
      };
      await store.commit({ decisions: [item], touch: [], sent: [sent] }, 0);
      expect(await store.findSent([sent.prefix, hashOf('other')])).toEqual(new Map([[sent.prefix, sent]]));
      await store.commit({ decisions: [], touch: [], sent: [sent] }, 0);
      const other = { ...sent, annotateLines: false };
      const again = await store.commit({ decisions: [], touch: [], sent: [other] }, 0);
      expect(again.sentBefore).toEqual([sent.prefix]);
      expect((await store.findSent([sent.prefix])).get(sent.prefix)).toEqual(sent);
      // it outlives the original by far
      clock.now += 50 * TTL_MS;
      while (await store.sweep());
      expect(await store.findOriginal(pruneIdOf('a'))).toBeNull();
      expect((await store.findSent([sent.prefix])).get(sent.prefix)).toEqual(sent);
    });

    it('records nothing as sent if a decision was known or refused', async () => {
      const item = aPrune('a', 'text');
      const { goal: _goal, basis: _basis, ...decision } = item.decision;
      const texts = [{ text: 0, json: [], start: 0, chars: 4, decision }];
      const sent = { prefix: hashOf('messages'), annotateLines: false, includeMarkers: true, texts };
      await save(item);
      const { known } = await store.commit({ decisions: [item], touch: [], sent: [sent] }, 0);
      expect(known).toEqual([item.decision.key]);
      expect(await store.findSent([sent.prefix])).toEqual(new Map());
    });

    it('rejects a prune id that belongs to another text, and discards that whole decision', async () => {
      await save(aPrune('a', 'one text'));
      const clash = aPrune('b', 'another text', { pruneId: pruneIdOf('a') });
      const fine = aPrune('c', 'third text');
      expect(await save(clash, fine)).toEqual({ missing: [], refused: [clash.decision.key], known: [] });
      expect(await store.findOriginal(pruneIdOf('a'))).toBe('one text');
      expect(await store.findOriginal(pruneIdOf('c'))).toBe('third text');
      expect(await store.findDecisions([clash.decision.key])).toEqual(new Map());
    });

    it('refuses such a clash inside one batch as well', async () => {
      const clash = aPrune('b', 'another text', { pruneId: pruneIdOf('a') });
      expect((await save(aPrune('a', 'one text'), clash)).refused).toEqual([clash.decision.key]);
    });

    it('does not report an id as missing if the same batch stores it', async () => {
      const batch = { decisions: [aPrune('a', 'text')], touch: [pruneIdOf('a'), pruneIdOf('b')] };
      expect(await store.commit(batch, 1000)).toEqual({ missing: [pruneIdOf('b')], refused: [], known: [] });
    });

    describe('the share of one conversation', () => {
      const text = (i: number) => Array.from({ length: 1_000 }, (_, n) => hashOf(`${i} ${n}`)).join('\n');
      const saveFor = (conversation: string, ...decisions: NewDecision[]) =>
        store.commit({ decisions, touch: [], conversation }, 1000);

      it('limits its stored originals: further ones are refused, existing ones stay usable', async () => {
        const items = [0, 1, 2, 3].map((i) => aPrune(`a ${i}`, text(i)));
        const keys = items.map(({ decision }) => decision.key);
        expect((await saveFor('a', ...items)).refused).toEqual(keys.slice(3));
        expect((await saveFor('a', ...items.slice(0, 3))).refused).toEqual([]);
        expect((await saveFor('a', aWhole('w', 'text'))).refused).toEqual([]);
        expect(await store.findOriginal(pruneIdOf('a 0'))).toBe(text(0));
        expect(await store.findOriginal(pruneIdOf('a 3'))).toBeNull();
        expect((await store.findDecisions(keys)).size).toBe(3);
      });

      it('does not reduce the room of other conversations, or of callers without one', async () => {
        await saveFor('a', ...[0, 1, 2].map((i) => aPrune(`a ${i}`, text(i))));
        expect((await saveFor('b', aPrune('b', text(7)))).refused).toEqual([]);
        expect((await save(...[10, 11, 12, 13].map((i) => aPrune(`c ${i}`, text(i))))).refused).toEqual([]);
      });

      it('refuses a batch as a whole if it must be atomic', async () => {
        const items = [0, 1, 2].map((i) => aPrune(`a ${i}`, text(i)));
        await saveFor('a', ...items);
        const more = [aPrune('a 3', text(3)), aWhole('w', 'text')];
        const batch = { decisions: more, touch: [], conversation: 'a', wholeOrNothing: true } as const;
        expect((await store.commit(batch, 1000)).refused).toEqual([more[0]?.decision.key]);
        expect(await store.findDecisions(more.map(({ decision }) => decision.key))).toEqual(new Map());
      });

      it('regains room when its originals are compressed or have expired', async () => {
        const line = 'the same line again and again\n';
        const big = (i: number) => aPrune(`a ${i}`, `${i}\n${line.repeat(1_500)}`);
        expect((await saveFor('a', big(0), big(1), big(2))).refused).toHaveLength(1);
        await sweepAll();
        expect((await saveFor('a', big(2))).refused).toEqual([]);
        await saveFor('b', ...[0, 1, 2].map((i) => aPrune(`b ${i}`, text(i))));
        clock.now += TTL_MS;
        await sweepAll();
        expect((await saveFor('b', ...[3, 4, 5].map((i) => aPrune(`b ${i}`, text(i))))).refused).toEqual([]);
      });
    });

    describe('the record of a sent message', () => {
      const { goal: _, basis: _basis, ...decision } = aPrune('a', 'text').decision;
      const message = (prefix: string, start = 0): SentMessage => ({
        prefix: hashOf(prefix),
        annotateLines: false,
        includeMarkers: true,
        texts: [{ text: 0, json: [], start, chars: 4, decision }],
      });
      const send = (...sent: SentMessage[]) => store.commit({ decisions: [], touch: [], sent }, 1000);

      it('is found unchanged, and is never replaced', async () => {
        expect((await send(message('p'), message('q'))).sentBefore ?? []).toEqual([]);
        expect((await send(message('p'))).sentBefore ?? []).toEqual([]);
        expect((await send(message('p', 7), message('r'))).sentBefore).toEqual([hashOf('p')]);
        expect(await store.findSent([hashOf('p'), hashOf('x')])).toEqual(new Map([[hashOf('p'), message('p')]]));
      });

      it('is written with the decisions or not at all', async () => {
        const item = aPrune('a', 'text');
        const batch = { decisions: [item], touch: [], sent: [message('p')] };
        await store.commit(batch, 1000);
        expect((await store.findSent([hashOf('p')])).size).toBe(1);
        await store.commit({ ...batch, sent: [message('q')] }, 1000); // the decision was known
        expect((await store.findSent([hashOf('q')])).size).toBe(0);
      });

      it('outlives the originals', async () => {
        await send(message('p'));
        clock.now += 10 * TTL_MS;
        await sweepAll();
        expect((await store.findSent([hashOf('p')])).size).toBe(1);
        clock.now += 91 * 86_400_000;
        expect((await store.findSent([hashOf('p')])).size).toBe(0);
        await sweepAll();
        await send(message('p', 9));
        expect((await store.findSent([hashOf('p')])).get(hashOf('p'))).toEqual(message('p', 9));
      });
    });

    it('forgets prunes, decisions and marks at the millisecond their lifetime ends', async () => {
      const cut = aPrune('a', 'text');
      const whole = aWhole('b', 'text');
      await save(cut, whole);
      await store.markServed([hashOf('served')]);
      await store.markRefused(hashOf('prefix'));
      const look = async () => {
        const [found, known] = [
          await store.findDecisions([cut.decision.key, whole.decision.key]),
          await store.refusedConversations(),
        ];
        return [found.size, await store.findPrune(pruneIdOf('a')), known.length];
      };

      clock.now += TTL_MS - 1;
      expect((await store.findPrune(pruneIdOf('a')))?.expiresAtMs).toBe(clock.now + 1);
      expect((await store.refusedConversations()).length).toBe(1);

      clock.now += 1;
      // that a request was refused is known for as long as what was sent is
      expect(await look()).toEqual([0, null, 1]);
      expect(await store.findOriginal(pruneIdOf('a'))).toBeNull();
      expect(await store.knownPruneIds([pruneIdOf('a')])).toEqual(new Set());
      expect(await store.wasServed([hashOf('served')])).toEqual(new Set());
      expect((await touch(pruneIdOf('a'))).missing).toEqual([pruneIdOf('a')]);
    });

    const uses: [string, (item: NewDecision) => unknown][] = [
      ['touched', () => touch(pruneIdOf('a'))],
      ['found by its key', ({ decision }) => store.findDecisions([decision.key])],
      ['recovered', () => store.findOriginal(pruneIdOf('a'))],
      ['recognised in a text', () => store.knownPruneIds([pruneIdOf('a')])],
      ['stored again', (item) => save(item)],
    ];
    it.each(uses)('extends the lifetime of a prune when it is %s', async (_name, use) => {
      const item = aPrune('a', 'text');
      await save(item);
      clock.now += TTL_MS - 1;
      await use(item);
      clock.now += TTL_MS - 1;
      await sweepAll();
      expect(await store.findOriginal(pruneIdOf('a'))).toBe('text');
      expect((await store.findDecisions([item.decision.key])).size).toBe(1);
    });

    it('extends the lifetime of whole and served texts with each use', async () => {
      const whole = aWhole('w', 'text');
      await save(whole);
      await store.markServed([hashOf('served')]);
      for (let i = 0; i < 5; i++) {
        clock.now += TTL_MS * 0.9;
        expect((await store.findDecisions([whole.decision.key])).size).toBe(1);
        expect((await store.wasServed([hashOf('served'), hashOf('else')])).size).toBe(1);
        await sweepAll();
      }
    });

    it('stores an expired item again instead of extending its lifetime', async () => {
      const item = aPrune('a', 'text');
      await save(item);
      clock.now += TTL_MS;
      expect((await touch(pruneIdOf('a'))).missing).toEqual([pruneIdOf('a')]);
      expect(await store.findOriginal(pruneIdOf('a'))).toBeNull();
      await save(item);
      expect(await store.findPrune(pruneIdOf('a'))).toMatchObject({ createdAtMs: clock.now });
      expect(await store.findOriginal(pruneIdOf('a'))).toBe('text');
    });

    it('allows another text to reuse the id of an expired prune', async () => {
      await save(aPrune('a', 'one text'));
      clock.now += TTL_MS;
      expect((await save(aPrune('b', 'another text', { pruneId: pruneIdOf('a') }))).refused).toEqual([]);
      expect(await store.findOriginal(pruneIdOf('a'))).toBe('another text');
    });

    it('loses no data when the clock jumps backwards', async () => {
      const item = aPrune('a', 'text');
      await save(item);
      clock.now -= 10 * TTL_MS;
      await touch(pruneIdOf('a'));
      await save(aPrune('b', 'more'));
      await sweepAll();
      expect(await store.findOriginal(pruneIdOf('a'))).toBe('text');
      expect(await store.findOriginal(pruneIdOf('b'))).toBe('more');
    });

    it('deletes only expired items', async () => {
      await save(aPrune('old', 'old text'), aPrune('shared-old', 'shared text'));
      clock.now += TTL_MS - 1;
      await save(aPrune('new', 'new text'), aPrune('shared-new', 'shared text'), aWhole('w', 'x'));
      clock.now += 1;
      await sweepAll();
      expect(await store.stats()).toMatchObject({ prunes: 2, snapshots: 2 });
      expect(await store.findOriginal(pruneIdOf('shared-new'))).toBe('shared text');
      clock.now += TTL_MS;
      await sweepAll();
      expect(await store.stats()).toEqual({ prunes: 0, snapshots: 0, bytes: 0 });
    });

    it('keeps one epoch until a deletion', async () => {
      const epoch = store.epoch();
      await save(aPrune('a', 'text'));
      await store.findOriginal(pruneIdOf('a'));
      await store.addEvents([anEvent('run')]);
      await sweepAll();
      expect(store.epoch()).toBe(epoch);
    });

    it('begins a new epoch when the sweep has deleted prunes', async () => {
      await save(aPrune('a', 'text'));
      clock.now += TTL_MS;
      const epoch = store.epoch();
      await sweepAll();
      expect(store.epoch()).not.toBe(epoch);
    });

    it('keeps everything that was stored or used in an epoch until it ends', async () => {
      await fc.assert(
        fc.asyncProperty(fc.integer({ min: 0, max: TTL_MS }), fc.nat(TTL_MS), async (wait, later) => {
          const name = `epoch ${wait} ${later} ${clock.now}`;
          await save(aPrune(name, 'text'));
          clock.now += Math.min(wait, TTL_MS - 1);
          await touch(pruneIdOf(name));
          const epoch = store.epoch();
          clock.now += later;
          if (store.epoch() === epoch) expect(await store.findPrune(pruneIdOf(name))).not.toBeNull();
        }),
        { numRuns: 60 },
      );
    });

    it('remembers which texts it has served', async () => {
      await store.markServed([hashOf('a'), hashOf('b')]);
      await store.markServed([hashOf('a')]);
      expect(await store.wasServed([hashOf('a'), hashOf('c')])).toEqual(new Set([hashOf('a')]));
    });

    it('lists conversations with a refused request, newest first', async () => {
      for (const prefix of ['p1', 'p2', 'p3', 'p1']) await store.markRefused(prefix);
      expect(await store.refusedConversations()).toEqual(['p1', 'p3', 'p2']);
    });

    it('numbers events without gaps and returns those of all runs or of one run from any number on', async () => {
      await store.addEvents([anEvent('r1', { n: 1 }), anEvent('r2', { n: 2 })]);
      await store.addEvents([anEvent('r1', { n: 3, text: '\ud800 "é"' })]);
      const all = await store.events({ fromSeq: 0, limit: 10 });
      const seqs = all.map(({ seq }) => seq);
      expect(seqs).toEqual([seqs[0], (seqs[0] ?? 0) + 1, (seqs[0] ?? 0) + 2]);
      expect(all[2]).toEqual({ ...anEvent('r1', { n: 3, text: '\ud800 "é"' }), seq: seqs[2] });
      expect(await store.events({ fromSeq: seqs[1] ?? 0, limit: 1 })).toEqual([all[1]]);
      expect(await store.events({ runId: 'r1', fromSeq: 0, limit: 10 })).toEqual([all[0], all[2]]);
      expect(await store.events({ runId: 'r3', fromSeq: 0, limit: 10 })).toEqual([]);
      expect(await store.events({ fromSeq: (seqs[2] ?? 0) + 1, limit: 10 })).toEqual([]);
    });

    it('keeps only the newest events within its limit, and never reuses a number', async () => {
      for (let i = 0; i < 6; i++) await store.addEvents(Array.from({ length: 50 }, () => anEvent(`run ${i}`)));
      await sweepAll();
      const kept = await store.events({ fromSeq: 0, limit: 1000 });
      expect(kept).toHaveLength(100);
      expect(new Set(kept.map(({ runId }) => runId))).toEqual(new Set(['run 4', 'run 5']));
      const last = kept.at(-1)?.seq ?? 0;
      await store.addEvents([anEvent('next')]);
      expect((await store.events({ runId: 'next', fromSeq: 0, limit: 1 }))[0]?.seq).toBe(last + 1);
    });

    it('processes a batch of a hundred texts completely and in order', async () => {
      const items = Array.from({ length: 100 }, (_, i) => aPrune(`item ${i}`, `text ${i}\n`.repeat(i)));
      await save(...items);
      expect([...(await store.findDecisions(items.map(({ decision }) => decision.key))).values()]).toEqual(
        items.map(({ decision }) => decision),
      );
      const known = await store.knownPruneIds([...items.map(({ decision }) => decision.pruneId ?? ''), 'prn_x']);
      expect(known.size).toBe(100);
    });

    it('rejects all calls after it was closed', async () => {
      await store.close();
      await expect(store.findPrune('prn_a')).rejects.toMatchObject({ name: 'StoreUnavailable', reason: 'closed' });
      await expect(save(aPrune('a', 'b'))).rejects.toMatchObject({ reason: 'closed' });
      expect(() => store.epoch()).toThrow(expect.objectContaining({ reason: 'closed' }));
    });
  });
}

function anEvent(runId: string, payload: Record<string, unknown> = {}): EventRecord {
  return { tsMs: 1_700_000_000_123, kind: 'pruned', level: 'info', runId, opId: null, payload };
}
