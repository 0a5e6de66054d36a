import { PassThrough, Readable } from 'node:stream';
import fc from 'fast-check';
import { jsonPieces } from 'mcp-pruner/mcp/json-pieces.ts';
import { describe, expect, it } from 'vitest';
import { cutNote, OutputCollector, WireBudget } from '../src/output.ts';
import { type Line, readLines } from '../src/stdio-lines.ts';

async function linesOf(chunks: readonly Buffer[], maxBytes: number): Promise<Line[]> {
  const lines: Line[] = [];
  for await (const line of readLines(Readable.from(chunks), maxBytes)) lines.push(line);
  return lines;
}

const texts = (lines: readonly Line[]): (string | null)[] =>
  lines.map(({ bytes }) => bytes?.toString('latin1') ?? null);

describe('jsonPieces', () => {
  const long = fc
    .tuple(fc.string({ unit: 'binary', maxLength: 40 }), fc.nat(60_000))
    .map(([unit, times]) => unit.repeat(Math.min(times, Math.ceil(600_000 / Math.max(unit.length, 1)))));

  it('concatenate to the result of JSON.stringify', () => {
    fc.assert(fc.property(fc.jsonValue(), (value) => [...jsonPieces(value)].join('') === JSON.stringify(value)));
    fc.assert(
      fc.property(long, (text) => [...jsonPieces({ a: [text] })].join('') === JSON.stringify({ a: [text] })),
      { numRuns: 30 },
    );
  });

  it('preserve a text, whatever character is at a piece boundary', () => {
    for (const text of ['😀', '\ud83d', '\ude00', '"', '\n', 'é']) {
      const whole = `${'x'.repeat(256 * 1024 - 1)}${text.repeat(3)}y`;
      expect(JSON.parse([...jsonPieces(whole)].join(''))).toBe(whole);
    }
  });

  it('leave out undefined values, as JSON.stringify does', () => {
    const value = { a: undefined, b: [undefined, 1], c: {}, d: [] };
    expect([...jsonPieces(value)].join('')).toBe(JSON.stringify(value));
  });
});

describe('readLines', () => {
  it('splits a stream into the same lines, however the stream is divided into chunks', async () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'b', '\n', '\r'), maxLength: 30 });
    await fc.assert(
      fc.asyncProperty(fc.array(text, { maxLength: 8 }), async (parts) => {
        const expected = parts.join('').split('\n');
        if (expected.at(-1) === '') expected.pop(); // a line end at the end opens no line
        expect(
          texts(
            await linesOf(
              parts.map((part) => Buffer.from(part)),
              1_000,
            ),
          ),
        ).toEqual(expected);
      }),
    );
  });

  it('skips a line that is too long, and reports it', async () => {
    const lines = await linesOf([Buffer.from('ok\n123'), Buffer.from('456'), Buffer.from('7\nok again\n')], 6);
    expect(texts(lines)).toEqual(['ok', null, null]);
    expect(texts(await linesOf([Buffer.from('123456\n1234567\n')], 6))).toEqual(['123456', null]);
  });

  it('ends when the stream breaks', async () => {
    const input = new PassThrough();
    const lines: Line[] = [];
    const reading = (async () => {
      for await (const line of readLines(input, 10)) lines.push(line);
    })();
    input.write('a\nb');
    await new Promise((resolve) => setImmediate(resolve));
    input.destroy(new Error('gone'));
    await reading;
    expect(texts(lines)).toEqual(['a']);
  });
});

describe('output that is too large for an answer', () => {
  it('never exceeds the limit of an answer, and is kept as far as possible', () => {
    const chunk = fc.uint8Array({ maxLength: 50 });
    fc.assert(
      fc.property(fc.array(chunk, { maxLength: 6 }), fc.nat(150), (chunks, room) => {
        const output = new OutputCollector(new WireBudget(room));
        for (const bytes of chunks) output.add(Buffer.from(bytes));
        const { dropped } = output;
        const text = output.takeText();
        const whole = Buffer.concat(chunks);
        expect(JSON.stringify(text).length - 2).toBeLessThanOrEqual(room);
        expect(text).toBe(whole.subarray(0, whole.length - dropped).toString('utf8'));
        if (dropped > 0) expect(6 + JSON.stringify(text).length).toBeGreaterThan(room - 3 * text.length);
        else expect(text).toBe(whole.toString('utf8'));
      }),
    );
  });

  it('is not continued after dropped bytes', () => {
    const budget = new WireBudget(4);
    const [first, second] = [new OutputCollector(budget), new OutputCollector(budget)];
    first.add(Buffer.from('abc\n\n'));
    second.add(Buffer.from('d'));
    expect([first.takeText(), first.dropped, second.takeText(), second.dropped]).toEqual(['abc', 2, '', 1]);
  });

  it('is reported in a note', () => {
    expect(cutNote(0)).toBe('');
    expect(cutNote(12)).toBe('\n[mcp-pruner: cut here, 12 bytes more do not fit into one answer]');
    expect(cutNote(12, false)).toBe('\n[mcp-pruner: cut here, the rest does not fit into one answer]');
  });
});
