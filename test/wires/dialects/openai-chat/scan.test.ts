import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { ScannedBody } from '../../../../src/wires/dialects/dialect.ts';
import { scanChatBody } from '../../../../src/wires/dialects/openai-chat/scan.ts';
import { decodeString, JsonShapeError } from '../../../../src/wires/json/cursor.ts';
import { arrayText, jsonText, objectText, spelled, stringLiteral } from '../../../helpers/json-text.ts';

type Member = readonly [key: string, value: string];

/** Any of the texts; a key may be spelled with escapes. */
function key(...names: readonly string[]): fc.Arbitrary<string> {
  return fc
    .constantFrom(...names)
    .chain((name) => fc.oneof({ weight: 4, arbitrary: fc.constant(name) }, spelled(name)))
    .map((name) => `"${name}"`);
}

function members(...each: readonly fc.Arbitrary<Member | null>[]): fc.Arbitrary<Member[]> {
  return fc
    .tuple(
      fc.tuple(...each),
      fc.array(fc.tuple(key('extra', 'cache_control', 'refusal', 'x'), jsonText), { maxLength: 2 }),
    )
    .map(([known, more]) => [...known.filter((member): member is Member => member !== null), ...more])
    .chain((list) => fc.shuffledSubarray(list, { minLength: list.length }));
}

function maybe(name: string, value: fc.Arbitrary<string>, freq = 4): fc.Arbitrary<Member | null> {
  return fc.option(fc.tuple(key(name), value), { freq });
}

const part = fc.oneof(
  {
    weight: 4,
    arbitrary: members(
      maybe('type', fc.oneof(fc.constant('"text"'), jsonText)),
      maybe('text', fc.oneof(stringLiteral, jsonText)),
    ).chain(objectText),
  },
  jsonText,
);
const content = fc.oneof(stringLiteral, jsonText, fc.array(part, { maxLength: 3 }).chain(arrayText));
const fn = members(
  maybe('name', fc.oneof(stringLiteral, jsonText)),
  maybe('arguments', fc.oneof(stringLiteral, jsonText)),
).chain(objectText);
const call = fc.oneof(
  {
    weight: 4,
    arbitrary: members(maybe('id', fc.oneof(stringLiteral, jsonText)), maybe('function', fc.oneof(fn, jsonText))).chain(
      objectText,
    ),
  },
  jsonText,
);
const message = fc.oneof(
  {
    weight: 5,
    arbitrary: members(
      maybe('role', fc.oneof(fc.constantFrom('"user"', '"tool"', '"assistant"'), jsonText)),
      maybe('content', content),
      maybe('tool_call_id', fc.oneof(stringLiteral, jsonText)),
      maybe('name', fc.oneof(stringLiteral, jsonText)),
      maybe('tool_calls', fc.oneof(fc.array(call, { maxLength: 3 }).chain(arrayText), jsonText)),
    ).chain(objectText),
  },
  jsonText,
);
const body = members(
  maybe('model', fc.oneof(stringLiteral, jsonText)),
  maybe('stream', fc.oneof(fc.constantFrom('true', 'false'), jsonText)),
  maybe(
    'messages',
    fc.oneof({ weight: 5, arbitrary: fc.array(message, { maxLength: 4 }).chain(arrayText) }, jsonText),
    9,
  ),
).chain(objectText);

type Fields = Readonly<Record<string, unknown>>;

function fieldsOf(value: unknown): Fields {
  return value !== null && typeof value === 'object' && !Array.isArray(value) ? (value as Fields) : {};
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

const SPEAKERS = new Map([
  ['user', ['user', 'words']],
  ['assistant', ['assistant', 'said']],
  ['tool', ['tool', 'result']],
  ['function', ['tool', 'result']],
]);

/** What the walk should find, told by JSON.parse; a body in which some object names a key twice is none of its business. */
function expectedFrom(text: string) {
  const root = fieldsOf(JSON.parse(text));
  return {
    model: textOf(root.model),
    stream: root.stream === true,
    messages: listOf(root.messages).map((each) => {
      const { role, content: said, tool_call_id, name, tool_calls } = fieldsOf(each);
      const parts = typeof said === 'string' ? [{ type: 'text', text: said }] : listOf(said);
      const [who, use] = SPEAKERS.get(textOf(role)) ?? ['other', 'other'];
      const about = use === 'result' ? { callId: textOf(tool_call_id), name: textOf(name) } : { callId: '', name: '' };
      return {
        role: who,
        texts: parts.flatMap((item) => {
          const { type, text: words } = fieldsOf(item);
          return type === 'text' && typeof words === 'string' ? [{ use, ...about, text: words }] : [];
        }),
        calls: listOf(tool_calls).flatMap((item) => {
          const { id, function: called } = fieldsOf(item);
          if (called === null || typeof called !== 'object' || Array.isArray(called)) return [];
          return [{ id: textOf(id), name: textOf(fieldsOf(called).name), args: fieldsOf(called).arguments }];
        }),
      };
    }),
  };
}

function found(text: string, { model, stream, messages }: ScannedBody) {
  const bytes = Buffer.from(text);
  const slice = ({ start, end }: { start: number; end: number }): unknown =>
    JSON.parse(bytes.toString('utf8', start, end));
  return {
    model,
    stream,
    messages: messages.map(({ role, texts, calls }) => ({
      role,
      texts: texts.map(({ literal, ...about }) => ({
        ...about,
        text: decodeString(bytes, literal.start, literal.end),
      })),
      calls: calls.map(({ args, ...rest }) => ({ ...rest, args: args === null ? undefined : slice(args) })),
    })),
  };
}

/** Whether any object in a JSON text has the same key twice. */
function hasDuplicates(text: string): boolean {
  let duplicates = false;
  const count = (value: unknown): number => {
    if (Array.isArray(value)) return value.reduce((sum: number, item) => sum + count(item), 0);
    if (value === null || typeof value !== 'object') return 0;
    return Object.entries(value).reduce((sum, [, item]) => sum + 1 + count(item), 0);
  };
  const colons = text.replace(/"(?:[^"\\]|\\[\s\S])*"/g, '""').split(':').length - 1;
  duplicates = colons !== count(JSON.parse(text));
  return duplicates;
}

describe('scanChatBody', () => {
  it('reads any body as JSON.parse does, whatever the order, the spelling and the white space', () => {
    let looked = 0;
    fc.assert(
      fc.property(body, (text) => {
        if (hasDuplicates(text)) return;
        looked++;
        expect(found(text, scanChatBody(Buffer.from(text)))).toEqual(expectedFrom(text));
      }),
      { numRuns: 150 },
    );
    expect(looked).toBeGreaterThan(20);
  });

  it('accepts every body that JSON.parse accepts, except one with two lists of messages', () => {
    fc.assert(
      fc.property(body, (text) => {
        expect(() => scanChatBody(Buffer.from(text))).not.toThrow();
      }),
      { numRuns: 100 },
    );
    expect(() => scanChatBody(Buffer.from('{"messages":[],"messages":[]}'))).toThrow(JsonShapeError);
  });

  it('throws nothing but JsonShapeError on truncated and mangled bodies, and never points outside the body', () => {
    const change = fc.record({
      at: fc.nat(600),
      by: fc.constantFrom('', '"', '\\', '{', '}', ',', ':', '[', ']', '0', 'x', ' ', '\u0000'),
    });
    fc.assert(
      fc.property(body, fc.array(change, { maxLength: 3 }), fc.option(fc.nat(600)), (text, changes, cut) => {
        let mangled = text;
        for (const { at, by } of changes) mangled = mangled.slice(0, at) + by + mangled.slice(at + 1);
        const bytes = Buffer.from(cut === null ? mangled : mangled.slice(0, cut));
        try {
          for (const { span, texts } of scanChatBody(bytes).messages) {
            expect(span.end).toBeLessThanOrEqual(bytes.length);
            for (const { literal } of texts) {
              expect(literal.start).toBeGreaterThan(span.start);
              expect(literal.end).toBeLessThan(span.end);
              expect(bytes.toString('latin1', literal.start, literal.start + 1)).toBe('"');
              expect(bytes.toString('latin1', literal.end - 1, literal.end)).toBe('"');
            }
          }
        } catch (error) {
          if (!(error instanceof JsonShapeError)) throw error;
        }
      }),
      { numRuns: 150 },
    );
  });

  it('throws nothing but JsonShapeError on any bytes', () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 60 }),
        fc.constantFrom('', '{"messages":[', '{"messages":[{"content":"'),
        (noise, start) => {
          try {
            scanChatBody(Buffer.concat([Buffer.from(start), noise]));
          } catch (error) {
            if (!(error instanceof JsonShapeError)) throw error;
          }
        },
      ),
    );
  });

  it.each([
    ['content', '{"role":"tool","content":"a","content":"b"}'],
    ['role', '{"role":"tool","role":"system","content":"a"}'],
    ['an escaped key', '{"role":"tool","content":"a","cont\\u0065nt":"b"}'],
    ['tool_call_id', '{"role":"tool","content":"a","tool_call_id":"1","tool_call_id":"2"}'],
    ['the text of a part', '{"role":"tool","content":[{"type":"text","text":"a","text":"b"}]}'],
    ['the type of a part', '{"role":"tool","content":[{"type":"text","text":"a","type":"image_url"}]}'],
    ['the type of a part, once no string', '{"role":"tool","content":[{"type":"text","text":"a","type":5}]}'],
    ['the text of a part, once no string', '{"role":"tool","content":[{"type":"text","text":"a","text":null}]}'],
  ])('marks a message with a duplicate %s as opaque', (_name, text) => {
    const { messages } = scanChatBody(Buffer.from(`{"messages":[${text}]}`));
    expect(messages.map(({ opaque }) => opaque)).toEqual([true]);
  });

  it('resumes after a known message as if it had read the whole body', () => {
    fc.assert(
      fc.property(
        fc.array(
          message.filter((text) => !/^\s*[-0-9tfn]/.test(text)),
          { minLength: 1, maxLength: 5 },
        ),
        fc.nat(4),
        fc.boolean(),
        (list, chosen, more) => {
          const text = `{"model":"m","stream":true,"messages":[${list.join(',')}]${more ? ',"temperature":1.0' : ''}}`;
          const bytes = Buffer.from(text);
          const whole = scanChatBody(bytes);
          const known = 1 + (chosen % list.length);
          const last = whole.messages[known - 1];
          const resumed = scanChatBody(bytes, {
            at: last?.span.end ?? 0,
            before: whole.before,
            messages: whole.messages.slice(0, known),
          });
          expect(resumed).toEqual(whole);
        },
      ),
    );
  });

  it('refuses to resume if no further message follows', () => {
    const bytes = Buffer.from('{"messages":[12]}');
    expect(() =>
      scanChatBody(bytes, {
        at: 14,
        before: { model: '', stream: false, previous: '', thread: false, reasoning: false, outside: [] },
        messages: [],
      }),
    ).toThrow(JsonShapeError);
  });

  it.each([
    '',
    '[]',
    'null',
    '"x"',
    '{"messages":[{}]',
    '{"messages":[{}]}}',
    '{"messages":[{}]} {}',
    '\ufeff{"messages":[]}',
  ])('refuses %j as a body', (text) => expect(() => scanChatBody(Buffer.from(text))).toThrow(JsonShapeError));

  it.each([
    ['parts', `{"role":"user","content":[${'{},'.repeat(500_000)}{}]}`],
    ['calls', `{"role":"assistant","tool_calls":[${'{},'.repeat(500_000)}{}]}`],
  ])('stops at once in a message of half a million %s', (_name, message) => {
    const bytes = Buffer.from(`{"messages":[${message}]}`);
    expect(() => scanChatBody(bytes)).toThrow(expect.objectContaining({ code: 'too_many_messages' }));
  });

  it('reads a legacy function call and its result', () => {
    const text =
      '{"messages":[{"role":"assistant","content":null,"function_call":{"name":"ls","arguments":"{}"}},{"role":"function","name":"ls","content":"a"}]}';
    const { messages } = scanChatBody(Buffer.from(text));
    expect(messages[0]?.calls.map(({ id, name }) => ({ id, name }))).toEqual([{ id: '', name: 'ls' }]);
    expect(messages[1]).toMatchObject({ role: 'tool', texts: [{ use: 'result', callId: '', name: 'ls' }] });
  });
});
