import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { meaningOf } from '../../src/core/hash.ts';
import { always, PRUNE } from '../../src/core/request/policy.ts';
import type { SqliteStore } from '../../src/store/sqlite.ts';
import { anthropicMessages } from '../../src/wires/dialects/anthropic-messages/dialect.ts';
import type { Dialect, ScannedText } from '../../src/wires/dialects/dialect.ts';
import { openaiResponses } from '../../src/wires/dialects/openai-responses/dialect.ts';
import { decodeString } from '../../src/wires/json/cursor.ts';
import { openPipeline, openStore, restored } from '../helpers/rewriter.ts';

const FOLDER = join(import.meta.dirname, '../fixtures/wires');

interface Recording {
  readonly name: string;
  readonly dialect: Dialect;
  /** Index of the request that only counts, if there is one. */
  readonly counts?: number;
  /** Texts that a session of this kind has cut at the least. */
  readonly cut: number;
}

const recordings: readonly Recording[] = [
  { name: 'claude-sonnet', dialect: anthropicMessages, counts: 1, cut: 2 },
  { name: 'claude-mcp', dialect: anthropicMessages, counts: 1, cut: 2 },
  { name: 'codex-post', dialect: openaiResponses, cut: 2 },
  { name: 'codex-compressed', dialect: openaiResponses, cut: 2 },
  { name: 'codex-compaction-trigger', dialect: openaiResponses, cut: 1 },
];

function bodiesOf(name: string): Buffer[] {
  const folder = join(FOLDER, name);
  return readdirSync(folder)
    .filter((file) => file.endsWith('.request.json.gz'))
    .sort()
    .map((file) => gunzipSync(readFileSync(join(folder, file))));
}

/** The texts of a body, and the bytes around them. */
function parts(dialect: Dialect, body: Buffer): { texts: ScannedText[]; values: string[]; between: Buffer[] } {
  const texts = dialect.scan(body).messages.flatMap((message) => [...message.texts]);
  texts.sort((a, b) => a.literal.start - b.literal.start);
  let at = 0;
  const between = texts.map(({ literal }) => {
    const bytes = body.subarray(at, literal.start);
    at = literal.end;
    return bytes;
  });
  const values = texts.map(({ literal }) => decodeString(body, literal.start, literal.end) ?? '');
  return { texts, values, between: [...between, body.subarray(at)] };
}

/** How many texts were cut; everything else must be the bytes that came, and every cut must be had back. */
async function account(dialect: Dialect, came: Buffer, sent: Buffer, store: SqliteStore): Promise<number> {
  const [before, after] = [parts(dialect, came), parts(dialect, sent)];
  expect(after.between.length).toBe(before.between.length);
  for (const [i, bytes] of before.between.entries()) expect(after.between[i]?.equals(bytes)).toBe(true);
  let cut = 0;
  for (const [i, value] of before.values.entries()) {
    const now = after.values[i] ?? '';
    if (now === value) continue;
    cut++;
    expect(['result', 'words', 'document']).toContain(before.texts[i]?.use);
    expect(await restored(now, store)).toBe(value);
  }
  return cut;
}

describe('the recorded conversations', () => {
  it.each(recordings)('of $name are pruned with every byte accounted for', async ({ name, dialect, counts, cut }) => {
    const store = openStore();
    const pipeline = openPipeline({ store, minPruneChars: 4_000 });
    const sentFor = new Map<string, string>();
    let most = 0;
    for (const [i, body] of bodiesOf(name).entries()) {
      const newTexts = i === counts ? 'pass' : 'prune';
      const { body: sent, prefixes } = await pipeline.rewrite({ body, dialect }, always({ ...PRUNE, newTexts }));
      most = Math.max(most, await account(dialect, body, sent, store));
      const messages = dialect.scan(sent).messages;
      for (const [j, message] of messages.entries()) {
        // as it was sent first, so it is sent in every later request
        const meant = `${message.role} ${meaningOf(sent, message)}`;
        const prefix = `${prefixes[j]} ${message.role}`;
        if (message.role !== 'other' && i !== counts) expect(meant).toBe(sentFor.get(prefix) ?? meant);
        sentFor.set(prefix, meant);
      }
    }
    expect(most).toBeGreaterThanOrEqual(cut);
  });

  it('are forwarded byte for byte the same if the proxy restarts before every request', async () => {
    for (const { name, dialect } of recordings.slice(0, 3)) {
      const [once, anew] = [openStore(), openStore()];
      const pipeline = openPipeline({ store: once, minPruneChars: 4_000 });
      for (const body of bodiesOf(name)) {
        const { body: sent } = await pipeline.rewrite({ body, dialect });
        const { body: again } = await openPipeline({ store: anew, minPruneChars: 4_000 }).rewrite({ body, dialect });
        expect(again.equals(sent)).toBe(true);
      }
    }
  });
});
