import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { tempFolder } from '../../../test/helpers/afterwards.ts';
import { linesOf } from '../src/file-lines.ts';
import { Thread } from '../src/readers/recorded.ts';

async function read(text: string | Buffer, maxLineBytes?: number): Promise<{ lines: string[]; read: number[] }> {
  const path = join(tempFolder(), 'session.jsonl');
  writeFileSync(path, text);
  const [lines, sizes]: [string[], number[]] = [[], []];
  for await (const line of linesOf(path, (bytes) => sizes.push(bytes), maxLineBytes)) lines.push(line);
  return { lines, read: sizes };
}

describe('the lines of a session file', () => {
  it('are separated by line breaks, wherever the file is divided into chunks', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.string({ unit: 'grapheme' })), async (parts) => {
        const text = parts.join('\n');
        expect((await read(text)).lines).toEqual(text.split('\n').filter((line) => line !== ''));
      }),
      { numRuns: 30 },
    );
    const long = 'ü'.repeat(400_000);
    const { lines, read: sizes } = await read(`a\n${long}\nb`);
    expect([lines, sizes.at(-1)]).toEqual([['a', long, 'b'], 800_004]);
  });

  it('exclude a line that is too long, and continue after it', async () => {
    expect((await read(`a\n${'x'.repeat(1_000_000)}\nb\n`, 500_000)).lines).toEqual(['a', 'b']);
  });
});

describe('a history that restarted without a record', () => {
  /** How many of some messages cannot have been in a request of so many tokens. */
  const lostOf = (messages: readonly unknown[], inputTokens: number): number => {
    const thread = new Thread();
    for (const message of messages) thread.add(message, false);
    return messages.length - thread.fit(inputTokens);
  };
  const messages = Array.from({ length: 100 }, (_, i) => `${i}`.padEnd(20_000));

  it('drops messages that do not fit in the tokens of its request', () => {
    const lost = lostOf(messages, 40_000);
    expect(lost).toBeGreaterThan(80);
    // and the next requests go on from this one
    expect(lostOf(messages.slice(lost), 40_000)).toBe(0);
    expect(lostOf([...messages.slice(lost), ...messages.slice(0, 5)], 45_000)).toBe(0);
  });

  it('keeps all messages that may have been in the request, and always the newest', () => {
    expect(lostOf(messages, 500_000)).toBe(0);
    expect(lostOf(['x'.repeat(9_000_000)], 1_000)).toBe(0);
    const image = { role: 'user', content: [{ type: 'image', source: { data: 'A'.repeat(2_000_000) } }] };
    expect(lostOf([image, image, image], 5_000)).toBe(0);
  });
});
