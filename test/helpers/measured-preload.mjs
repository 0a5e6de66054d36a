// Loaded into a server before its program: measures its memory when the test asks for it.
import { createHook } from 'node:async_hooks';
import { existsSync, readFileSync } from 'node:fs';
import { Session } from 'node:inspector/promises';
import { SourceMap } from 'node:module';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc');
/** Distance of samples in bytes. */
const SAMPLED_EACH_BYTES = 64;
let session;

/** Bytes of a profile, without those of the profiler itself. */
function bytesIn({ callFrame, selfSize, children }) {
  if (callFrame.url.startsWith('node:inspector')) return 0;
  return children.reduce((sum, child) => sum + bytesIn(child), selfSize);
}

let promises = 0;
const hook = createHook({
  init(_id, type) {
    if (type === 'PROMISE') promises++;
  },
});

const readers = new Map();

/** For a built file, the source file of ours that a function at an offset came from; `null` for libraries. */
function sourcesOf(url) {
  if (!readers.has(url)) readers.set(url, readSources(url));
  return readers.get(url);
}

function readSources(url) {
  if (!url.startsWith('file:') || !existsSync(new URL(`${url}.map`))) return () => null;
  const map = new SourceMap(JSON.parse(readFileSync(new URL(`${url}.map`), 'utf8')));
  const starts = [0, ...[...readFileSync(new URL(url), 'utf8').matchAll(/\n/g)].map(({ index }) => index + 1)];
  const found = new Map();
  const read = (offset) => {
    const line = starts.findLastIndex((start) => start <= offset);
    const { originalSource = '' } = map.findEntry(line, offset - starts[line]);
    return originalSource.includes('node_modules') ? null : (/(?:src|packages)\/.+$/.exec(originalSource)?.[0] ?? null);
  };
  return (offset) => {
    if (!found.has(offset)) found.set(offset, read(offset));
    return found.get(offset);
  };
}

/** The pending round of writes, which the server makes a second after the first row. */
let round;
const WRITES_EACH_MS = 1_000;
const { setTimeout: startTimer } = globalThis;
globalThis.setTimeout = (run, ms, ...args) => {
  const timer = startTimer(run, ms, ...args);
  if (ms === WRITES_EACH_MS) round = { timer, run };
  return timer;
};

const measures = {
  /** Makes the pending round of writes now. */
  write() {
    if (round === undefined) return 0;
    const { timer, run } = round;
    round = undefined;
    clearTimeout(timer);
    run();
    return 1;
  },
  async countStart() {
    session = new Session();
    session.connect();
    await session.post('Profiler.enable');
    await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
    return 0;
  },
  /** Counts promises apart from calls, because counting them takes calls. */
  promiseStart() {
    promises = 0;
    hook.enable();
    return 0;
  },
  promises() {
    hook.disable();
    return promises;
  },
  /** Calls of functions since `countStart`, distinct functions called, and source files of ours that they are in. */
  async counted() {
    const { result } = await session.post('Profiler.takePreciseCoverage');
    session.disconnect();
    const counts = { calls: 0, functions: 0 };
    const files = new Set();
    for (const { url, functions } of result) {
      if (url.startsWith('node:inspector') || url.endsWith('measured-preload.mjs')) continue;
      const sourceAt = sourcesOf(url);
      for (const { ranges } of functions) {
        const [{ count, startOffset }] = ranges;
        if (count === 0) continue;
        counts.functions++;
        counts.calls += count;
        files.add(sourceAt(startOffset));
      }
    }
    files.delete(null);
    return { ...counts, files: files.size };
  },
  async start() {
    session = new Session();
    session.connect();
    await session.post('HeapProfiler.startSampling', {
      samplingInterval: SAMPLED_EACH_BYTES,
      includeObjectsCollectedByMajorGC: true,
      includeObjectsCollectedByMinorGC: true,
    });
    return 0;
  },
  async allocated() {
    const { profile } = await session.post('HeapProfiler.stopSampling');
    session.disconnect();
    return bytesIn(profile.head);
  },
  heap() {
    collectGarbage();
    return process.memoryUsage().heapUsed;
  },
};

process.on('message', async (name) => process.send(await measures[name]()));
process.channel?.unref();
