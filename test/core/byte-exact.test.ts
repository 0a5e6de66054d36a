import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseMarker } from '../../src/engine/text/marker.ts';
import { chatBody, contentAt, messagesOf, oneResult } from '../helpers/chat.ts';
import { jsonText, spelled } from '../helpers/json-text.ts';
import { openRewriter, openStore, restored, verdicts } from '../helpers/rewriter.ts';
import { serverLog } from '../helpers/texts.ts';

const LOG = serverLog(120);

/** The pieces of a body around one literal: fields, messages and white space that no serialiser would write so. */
const around = fc.tuple(jsonText, jsonText, fc.constantFrom('', ' ', '\t\r\n ')).map(([a, b, gap]) => ({
  before: `{"x":${a},${gap}"model" :"m","temperature":1.0,"seed":9007199254740993,"x":${b},"messages":[{"role":"user","content":"Find the failing payment","x":${a}},${gap}{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"bash","arguments":"{\\u0022command\\u0022: \\"npm start\\"}","strict":null}}],"refusal":null},{"tool_call_id":"c1","extra":${b},${gap}"content":`,
  after: `${gap},"role":"tool","cache_control":{"type":"ephemeral"},"more":${a}}${gap}],"top_p":1e0,\t"z":${b}}\n`,
}));

const nasty = fc.constantFrom(
  '\ud83d',
  '😀',
  '\u2028',
  '\t',
  '"',
  '\\',
  '/',
  '\0',
  '\r',
  'é',
  '⟦PRUNÉ: prune_id=prn_000000000000 lignes 1-2 (2) raison=x⟧',
  '<\u001b[31m>',
);

/** Lines of a log, some of them with characters that JSON has several spellings for, each spelled by chance. */
const spelledLines = fc
  .array(fc.tuple(nasty, fc.nat(119)), { maxLength: 6 })
  .map((changes) => {
    const lines = LOG.trimEnd().split('\n');
    for (const [what, at] of changes) lines[at] = `${lines[at] ?? ''} ${what} ${what}`;
    return lines;
  })
  .chain((lines) => fc.tuple(...lines.map((line) => spelled(line).map((raw) => ({ line, raw })))));

describe('a body that is pruned', () => {
  it('differs from the client’s only by the cut lines, to the byte', async () => {
    const rewriter = openRewriter({ store: openStore() });
    let cut = 0;
    await fc.assert(
      fc.asyncProperty(around, spelledLines, async ({ before, after }, lines) => {
        const literal = `"${lines.map(({ raw }) => raw).join('\\n')}"`;
        const { body } = await rewriter.rewrite(Buffer.from(before + literal + after));
        const text = body.toString('utf8');
        expect(text.startsWith(before)).toBe(true);
        expect(text.endsWith(after)).toBe(true);
        const pruned = text.slice(before.length, text.length - after.length);
        const expected: string[] = [];
        let next = 0;
        for (const line of (JSON.parse(pruned) as string).split('\n')) {
          const marker = parseMarker(line);
          // A marker that stands in the text itself stands there with its line.
          const isOurs = marker !== null && line !== lines[next]?.line;
          expected.push(isOurs ? JSON.stringify(line).slice(1, -1) : (lines[next]?.raw ?? 'too much'));
          next = isOurs ? marker.endLine : next + 1;
        }
        expect(next).toBe(lines.length);
        expect(pruned).toBe(`"${expected.join('\\n')}"`);
        if (pruned !== literal) cut++;
      }),
      { numRuns: 25 },
    );
    expect(cut).toBeGreaterThan(12);
  });

  it('keeps number spellings, duplicate keys, escapes, tabs and unknown fields', async () => {
    const messages = JSON.stringify(oneResult(LOG)).replaceAll('careful', 'car\\u00e9ful');
    const text = `{\t"model" : "m",\r\n "n":1.0, "seed": 9007199254740993, "n":2, "\\u00e9":"\\u00e9\\/", "unknown": {"deep":[1e5,-0]},"messages":${messages}\t}`;
    const { body } = await openRewriter().rewrite(Buffer.from(text));
    const content = contentAt(body, -1);
    expect(content.length).toBeLessThan(LOG.length / 2);
    const literalOf = (of: string) => JSON.stringify(of);
    expect(body.toString('utf8').replace(literalOf(content), () => literalOf(LOG))).toBe(text);
  });

  it('has a stored original for every marker', async () => {
    const store = openStore();
    const { body } = await openRewriter({ store }).rewrite(chatBody(oneResult(LOG)));
    expect(await restored(contentAt(body, -1), store)).toBe(LOG);
  });

  it('keeps all parts, and every other field in them', async () => {
    const parts = [
      { type: 'text', text: 'short' },
      { type: 'text', text: LOG, cache_control: { type: 'ephemeral' }, x: 1 },
      { type: 'image_url', image_url: { url: `data:image/png;base64,${'A'.repeat(9_000)}` } },
      { type: 'other', text: LOG },
    ];
    const { body } = await openRewriter().rewrite(chatBody(oneResult(parts)));
    const content = messagesOf(body).at(-1)?.content as typeof parts;
    expect(content).toEqual([parts[0], { ...parts[1], text: content[1]?.text }, parts[2], parts[3]]);
    expect(content[1]?.text?.length).toBeLessThan(LOG.length / 2);
  });

  it('is pruned inside a result that is JSON in a string, and stays valid JSON', async () => {
    const store = openStore();
    const wrapped = `{ "output" : ${JSON.stringify(LOG)}, "metadata":{"exit_code":1.0,"duration":0.5}}`;
    const { body } = await openRewriter({ store }).rewrite(chatBody(oneResult(wrapped)));
    const content = contentAt(body, -1);
    const { output, metadata } = JSON.parse(content) as { output: string; metadata: object };
    expect(metadata).toEqual({ exit_code: 1, duration: 0.5 });
    expect(content).toBe(wrapped.replace(JSON.stringify(LOG), () => JSON.stringify(output)));
    expect(output.length).toBeLessThan(LOG.length / 2);
    expect(await restored(output, store)).toBe(LOG);
  });

  it('is pruned inside JSON in a string of JSON', async () => {
    const store = openStore();
    const inner = JSON.stringify({ output: LOG, ok: true });
    const wrapped = JSON.stringify([{ type: 'text', text: inner }]);
    const { body } = await openRewriter({ store }).rewrite(chatBody(oneResult(wrapped)));
    const [part] = JSON.parse(contentAt(body, -1)) as [{ type: string; text: string }];
    const { output, ok } = JSON.parse(part.text) as { output: string; ok: boolean };
    expect({ type: part.type, ok }).toEqual({ type: 'text', ok: true });
    expect(await restored(output, store)).toBe(LOG);
    expect(output).not.toBe(LOG);
  });

  it('has each of several results in one string pruned separately', async () => {
    const store = openStore();
    const second = serverLog(150, 7);
    const wrapped = JSON.stringify([
      { query: 'a', result: LOG },
      { query: 'b', result: second, success: true },
    ]);
    const { body, outcomes } = await openRewriter({ store }).rewrite(chatBody(oneResult(wrapped)));
    const results = JSON.parse(contentAt(body, -1)) as { query: string; result: string; success?: boolean }[];
    expect(outcomes.map(({ pruneId }) => pruneId).every((id) => id !== null)).toBe(true);
    expect(await restored(results[0]?.result ?? '', store)).toBe(LOG);
    expect(await restored(results[1]?.result ?? '', store)).toBe(second);
  });
});

describe('a body with nothing to prune', () => {
  it('is forwarded unchanged', async () => {
    const rewriter = openRewriter();
    await fc.assert(
      fc.asyncProperty(around, spelled('a short result'), async ({ before, after }, raw) => {
        const bytes = Buffer.from(`${before}"${raw}"${after}`);
        expect((await rewriter.rewrite(bytes)).body).toBe(bytes);
      }),
      { numRuns: 30 },
    );
  });

  it.each([
    ['system prompts', [{ role: 'system', content: LOG }]],
    ['the developer’s words', [{ role: 'developer', content: LOG }]],
    ['ordinary words of the user', [{ role: 'user', content: LOG }]],
    ['words of the assistant', [{ role: 'assistant', content: LOG }]],
    [
      'arguments of a call',
      [
        {
          role: 'assistant',
          content: null,
          tool_calls: [
            { id: 'c', type: 'function', function: { name: 'write', arguments: JSON.stringify({ text: LOG }) } },
          ],
        },
      ],
    ],
    [
      'legacy arguments',
      [
        {
          role: 'assistant',
          content: null,
          function_call: { name: 'write', arguments: JSON.stringify({ text: LOG }) },
        },
      ],
    ],
    ['a fence that nothing names', [{ role: 'user', content: `Why?\n\`\`\`\n${LOG}\`\`\`` }]],
    ['a result that is one line', oneResult('x'.repeat(50_000))],
    ['minified JSON', oneResult(JSON.stringify(Array.from({ length: 5_000 }, (_, i) => ({ i }))))],
    ['null content', oneResult(null)],
    ['content that is a number', oneResult(5)],
    ['content that is an object', oneResult({ text: LOG })],
    ['messages that are no objects', [null, 1, 'x', [LOG]] as never],
    ['no messages', []],
  ])('keeps %s unchanged', async (_name, messages) => {
    const bytes = chatBody(messages);
    expect((await openRewriter().rewrite(bytes)).body).toBe(bytes);
  });

  it.each([
    [
      'names its content twice',
      `{"role":"tool","tool_call_id":"call_1","content":"x","content":${JSON.stringify(LOG)}}`,
    ],
  ])('keeps a result unchanged that %s', async (_name, message) => {
    const text = chatBody(oneResult(LOG)).toString('latin1');
    const last = text.lastIndexOf('{"role":"tool"');
    const bytes = Buffer.from(`${text.slice(0, last)}${message}]}`);
    const rewritten = await openRewriter().rewrite(bytes);
    expect(rewritten.body).toBe(bytes);
    expect(rewritten.messages).toHaveLength(4);
  });

  it('is not understood if one of its bytes is not valid UTF-8', async () => {
    const text = chatBody(oneResult(LOG)).toString('latin1');
    const bytes = Buffer.from(text.replace('INFO GET', 'INFO \xc3\x28 GET'), 'latin1');
    await expect(openRewriter().rewrite(bytes)).rejects.toMatchObject({ code: 'body_not_understood' });
  });
});

describe('a pruned request', () => {
  it('is never larger than the client’s', async () => {
    const rewriter = openRewriter({ minPruneChars: 0 });
    const text = fc.array(fc.oneof(fc.string({ maxLength: 50 }), fc.constantFrom('a', '', 'INFO ok', 'x = 1')), {
      minLength: 1,
      maxLength: 200,
    });
    await fc.assert(
      fc.asyncProperty(text, async (lines) => {
        const bytes = chatBody(oneResult(lines.join('\n')));
        const { body, outcomes } = await rewriter.rewrite(bytes);
        expect(body.length).toBeLessThanOrEqual(bytes.length);
        for (const { tokensBefore, tokensAfter, pruneId } of outcomes) {
          if (pruneId !== null) expect(tokensAfter).toBeLessThan(tokensBefore);
        }
      }),
      { numRuns: 60 },
    );
  });

  it('is unchanged if line numbers would cost more than the cut saves', async () => {
    const rewriter = openRewriter({ annotateLines: true });
    const failures = Array.from({ length: 900 }, (_, i) => `ERROR e${i}`);
    const numbered = serverLog(300);
    const ends: string[] = [];
    for (const text of [numbered, `${failures.join('\n')}\n${serverLog(70)}`]) {
      const bytes = chatBody(oneResult(text));
      const rewritten = await rewriter.rewrite(bytes);
      expect(rewritten.body.length).toBeLessThanOrEqual(bytes.length);
      ends.push(...verdicts(rewritten));
    }
    expect(ends).toEqual(['cut', 'too_little_saved']);
  });
});
