import { writeFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';
import { ScanThread } from '../../src/store/sqlite/scan-thread.ts';
import { afterwards, tempPath } from './helpers.ts';

const query = { project: 'p', terms: new Map([['word', false]]), files: [], limit: 1 };

/** A thread that runs a program of the test. */
function threadOf(program: string): ScanThread {
  const file = `${tempPath()}.mjs`;
  writeFileSync(file, `import { parentPort, workerData } from 'node:worker_threads';\n${program}`);
  const thread = new ScanThread({ path: '/a/store.db' }, pathToFileURL(file));
  afterwards(() => thread.close());
  return thread;
}

it('a search on the thread gets the query with the path of the store, and the thread ends when it is closed', async () => {
  const thread = threadOf(`parentPort.on('message', (task) => {
    if (task === 'close') parentPort.close();
    else parentPort.postMessage({ id: task.id, found: { path: workerData.path, terms: [...task.query.terms.keys()] } });
  });`);
  expect(thread.isRunning).toBe(false);
  const found = await Promise.all([thread.scan(query), thread.scan(query)]);
  expect(found).toEqual([
    { path: '/a/store.db', terms: ['word'] },
    { path: '/a/store.db', terms: ['word'] },
  ]);
  expect(thread.isRunning).toBe(true);
  await thread.close();
  expect([thread.isRunning, thread.isAvailable, await thread.scan(query)]).toEqual([false, false, null]);
});

it('searches of a thread that crashes end without an answer, and after three crashes no new one starts', async () => {
  const thread = threadOf(`parentPort.on('message', () => process.exit(1));`);
  for (const left of [true, true, false]) {
    expect(await thread.scan(query)).toBeNull();
    expect(thread.isAvailable).toBe(left);
  }
});
