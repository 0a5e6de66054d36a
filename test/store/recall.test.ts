import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { aResult, keep, recallContract, search } from '../contract/recall.suite.ts';
import { aBatch, aSegment } from '../contract/segments.suite.ts';
import { openStore, tempPath } from './helpers.ts';

const paths = new WeakMap<object, string>();

recallContract('a store on a file', async ({ clock, beside }) => {
  const path = (beside && paths.get(beside)) ?? tempPath();
  const store = openStore(path, clock ? { clock } : {});
  paths.set(store, path);
  return store;
});

it('a deleted result leaves none of its words in the pages of the file', async () => {
  const path = tempPath();
  const store = openStore(path);
  for (let i = 0; i < 30; i++) await keep(store, aResult(`other things ${i}`), { path: `${i}.ts` });
  const id = await keep(store, `${aResult('zebrafish')}\nloadZebrafish(quaggaMussel)`);
  const inFile = (): string => ['', '-wal'].map((side) => readFileSync(path + side).toString('latin1')).join('');
  expect(inFile()).toContain('zebrafish');
  await store.segments.note([aBatch([aSegment('seg_1', { pruneIds: [id] })])]);
  const directive = { segment: 'seg_1', action: 'delete' as const, scope: '', upTo: -1 };
  await store.segments.change({ project: 'p', set: [directive], clear: [] });
  for (const word of ['zebra', 'Zebra', 'ebrafish', 'quagga', 'mussel']) expect(inFile()).not.toContain(word);
});

it('results with a name from the query rank above results with the other words of the query', async () => {
  const store = openStore(tempPath());
  for (let i = 0; i < 10; i++) await keep(store, aResult(`other things ${i}`), { path: `${i}.ts` });
  const code = await keep(store, `${aResult('code')}\nexport function parseInvoice() {}`, { path: 'a.ts' });
  const prose = `${aResult('prose')}\nI am checking whether that would still work without it`;
  const notes = await keep(store, prose, { path: 'notes.md' });
  const first = async (query: string): Promise<string | undefined> => (await search(store, query)).hits[0]?.prune_id;
  expect(await first('I am checking whether `parseInvoice` would still work')).toBe(code);
  expect(await first('whether that would')).toBe(notes);
});
