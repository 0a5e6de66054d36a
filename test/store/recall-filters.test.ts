import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TextScan } from '../../src/engine/search/scan.ts';
import { filterOf, mayHave, termHash } from '../../src/engine/search/term-filter.ts';
import { termsOf } from '../../src/engine/search/terms.ts';
import { aResult, keep, search } from '../contract/recall.suite.ts';
import { aBatch, aSegment } from '../contract/segments.suite.ts';
import { openStore, tempPath } from './helpers.ts';

const scope = (terms: readonly string[]) => {
  return { project: 'p', terms: new Map(terms.map((term) => [term, false])), files: [], limit: 10 };
};

describe('the filter of a text', () => {
  it('has every term of the text', () => {
    const words = fc.constantFrom(
      'getUser',
      'HTTPServer2',
      '_user_1',
      'naïve',
      'ΟΔΟΣ',
      'İzmir',
      '日本語の',
      ' ',
      '.',
      '🛒',
      'aB',
    );
    const texts = fc.array(fc.oneof(words, fc.string({ unit: 'binary', maxLength: 4 }))).map((all) => all.join(''));
    fc.assert(
      fc.property(texts, (text) => {
        const filter = filterOf(text);
        for (const term of termsOf(text))
          expect([text, term, filter && mayHave(filter, termHash(term))]).toEqual([text, term, true]);
      }),
    );
  });

  it('has few other terms, in 6 to 8 % of the text', () => {
    const text = Array.from({ length: 400 }, (_, i) => `const order${i} = await load${i}(customer, '${i * 7}');`).join(
      '\n',
    );
    const filter = filterOf(text) ?? new Uint8Array();
    const others = Array.from({ length: 5_000 }, (_, i) => `other${i}`).filter((term) =>
      mayHave(filter, termHash(term)),
    );
    expect(others.length).toBeLessThan(40);
    expect(filter.length).toBeLessThan(0.12 * text.length);
  });

  it('is left out for a text with more terms than it can hold, which a search then reads', () => {
    expect(filterOf(Array.from({ length: 20_000 }, (_, i) => `w${i}`).join(' '))).toBeNull();
    expect(filterOf('')).toHaveLength(0);
  });
});

describe('a search of results with filters', () => {
  it('finds what it finds without them, parts of words included', async () => {
    const store = openStore(tempPath());
    for (let i = 0; i < 30; i++) await keep(store, aResult(`things ${i}`), { path: `${i}.ts`, ordinal: i });
    await keep(store, `${aResult('fish')}\nloadZebrafish()`, { path: 'fish.ts', ordinal: 40 });
    const queries = ['zebrafish', 'load_zebrafish', 'ebrafi', 'fish.ts', 'things 7', 'nothing like it'];
    const answers = async () => Promise.all(queries.map(async (query) => (await search(store, query)).hits));
    const before = await answers();
    const first = await store.recall.scan(scope(['things']));
    expect(first.unfiltered).toHaveLength(31);
    await store.recall.saveFilters(first);
    const later = await store.recall.scan(scope(['things']));
    expect([later.unfiltered, later.withTerm, later.results]).toEqual([[], first.withTerm, first.results]);
    expect(await answers()).toEqual(before);
    expect(before.map(({ length }) => length)).toEqual([1, 1, 1, 8, 8, 0]);
  });

  it('leaves nothing of a deleted result behind, in rows or in the size of the store', async () => {
    const store = openStore(tempPath());
    await keep(store, aResult('one'), { path: 'one.ts' });
    const { bytes } = await store.stats();
    const id = await keep(store, aResult('two'), { path: 'two.ts' });
    await store.recall.saveFilters(await store.recall.scan(scope(['one'])));
    const filters = () => store.sql.all<{ size: number }>('SELECT length(data) AS size FROM main.recall_filter', []);
    const [{ size = 0 } = {}] = await filters();
    expect(size).toBeGreaterThan(0);
    await store.segments.note([aBatch([aSegment('seg_1', { pruneIds: [id] })])]);
    const directive = { segment: 'seg_1', action: 'delete' as const, scope: '', upTo: -1 };
    await store.segments.change({ project: 'p', set: [directive], clear: [] });
    expect(await filters()).toHaveLength(1);
    expect((await store.stats()).bytes).toBe(bytes + size);
  });

  it('gives no filter to a result that took the row of a deleted one', async () => {
    const store = openStore(tempPath());
    await keep(store, aResult('one'));
    const found = await store.recall.scan(scope(['one']));
    const writing = store.recall.saveFilters(found);
    await store.sql.write(function* () {
      yield { kind: 'change', sql: 'UPDATE main.prune SET prune_id = ?', values: ['prn_other'] };
    });
    await writing;
    expect(await store.sql.all('SELECT recall FROM main.recall_filter', [])).toEqual([]);
  });

  it('reads a bounded number of texts, whatever their number', () => {
    const scan = new TextScan(new Map([['word', false]]), []);
    const filter = filterOf('word') ?? new Uint8Array();
    for (let id = 0; id < 1_000; id++) scan.addFiltered({ id, path: '', about: '', chars: 1_000 }, filter);
    expect(scan.toRead(200, 1_500_000)).toHaveLength(200);
    expect(scan.toRead(200, 9_500)).toHaveLength(10);
  });
});
