// Loaded into a server before its program: measures its memory when the test asks for it.
import { Session } from 'node:inspector/promises';
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

const measures = {
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
