import { open } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Scrubber, Searched } from '../erase/scrub.ts';
import type { Access } from './access.ts';
import { classify } from './errors.ts';

/** Maximum number of texts that are sampled. */
const MAX_TEXTS = 200;
/** Small enough to lie within a page in most cases; samples not found before the erasure are dropped. */
const SAMPLE_BYTES = 64;
const CHUNK_BYTES = 4_194_304;
/** Maximum delay of the log truncation by readers in other processes, in milliseconds. */
const PATIENCE_MS = 10_000;

/**
 * Scrubs the files of a SQLite store. `secure_delete` overwrites deleted rows, but copies of moved rows stay in the unused
 * parts of pages until the file is rewritten, and earlier page versions in the write-ahead log until it is copied and
 * truncated. Reads go on meanwhile; writes wait.
 */
export function fileScrubber(access: Access, path: string): Scrubber {
  return {
    async samples(pruneIds) {
      const rows = await access.all<{ prune_id: string; data: Buffer }>(
        `SELECT p.prune_id, c.data FROM prune p JOIN snapshot s ON s.id = p.snapshot JOIN content c ON c.id = s.content
         WHERE p.prune_id IN LIST(?) LIMIT ${MAX_TEXTS}`,
        [pruneIds],
      );
      return rows.flatMap(({ prune_id, data }) => {
        const middle = data.length >> 1;
        const ofText = data.length < 2 * SAMPLE_BYTES ? [] : [data.subarray(middle, middle + SAMPLE_BYTES)];
        return [Buffer.from(prune_id), ...ofText];
      });
    },
    async search(samples, isErased) {
      const { bytes, found } = await searchFiles([path, `${path}-wal`], samples);
      const strange: Buffer[] = [];
      for (const sample of found) if (!isErased || !(await isStored(access, sample))) strange.push(sample);
      return { bytes, found: strange };
    },
    async scrub() {
      const endMs = performance.now() + PATIENCE_MS;
      const failed = await rewriteFailure(access);
      if (failed !== null) return { ...failed, isDone: false, notSearched: [] };
      let isDone = await access.maintain((connection) => connection.checkpoint());
      while (!isDone && performance.now() < endMs) {
        await sleep(50);
        isDone = await access.maintain((connection) => connection.checkpoint());
      }
      const did = isDone
        ? 'the file was rewritten, and the write-ahead log was truncated'
        : 'the write-ahead log could not be truncated, because another process reads it';
      const remedy = 'stop the process that reads the store, and run the command again';
      return { did, isDone, ...(!isDone && { remedy }), notSearched: [] };
    },
  };
}

/** Rewrites the file. @returns what prevented it, or `null` */
async function rewriteFailure(access: Access): Promise<{ readonly did: string; readonly remedy: string } | null> {
  try {
    await access.maintain((connection) => connection.rewrite());
    return null;
  } catch (cause) {
    const { reason } = classify(cause).error;
    const remedies: Readonly<Record<string, string>> = {
      full: 'free as much disk space as the store takes, also in the folder for temporary files',
      locked: 'stop the process that writes to the store',
    };
    const remedy = `${remedies[reason] ?? 'correct the cause'}, and run the command again`;
    return { did: `the file could not be rewritten (${reason})`, remedy };
  }
}

/** Whether another stored text contains the same bytes. */
async function isStored(access: Access, sample: Buffer): Promise<boolean> {
  const rows = await access.all('SELECT 1 FROM content WHERE instr(data, ?) > 0 LIMIT 1', [sample]);
  return rows.length > 0;
}

async function searchFiles(paths: readonly string[], samples: readonly Buffer[]): Promise<Searched> {
  const open = new Set(samples);
  let bytes = 0;
  for (const path of paths) {
    for await (const chunk of chunksOf(path)) {
      bytes += chunk.fresh;
      for (const sample of open) if (chunk.bytes.includes(sample)) open.delete(sample);
    }
  }
  return { bytes, found: samples.filter((sample) => !open.has(sample)) };
}

/** Reads a file in overlapping chunks, so that no sample is split between two. */
async function* chunksOf(path: string) {
  const file = await open(path).catch(() => null); // the log file may not exist
  if (file === null) return;
  try {
    const buffer = Buffer.alloc(CHUNK_BYTES);
    for (let at = 0, kept = 0; ; ) {
      const { bytesRead } = await file.read(buffer, kept, CHUNK_BYTES - kept, at);
      if (bytesRead === 0) return;
      yield { bytes: buffer.subarray(0, kept + bytesRead), fresh: bytesRead };
      at += bytesRead;
      const end = kept + bytesRead;
      kept = Math.min(end, SAMPLE_BYTES);
      buffer.copyWithin(0, end - kept, end);
    }
  } finally {
    await file.close();
  }
}
