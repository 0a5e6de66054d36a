import { Ajv } from 'ajv';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { textHash } from '../../src/core/hash.ts';
import { keptId } from '../../src/core/recall/kept-text.ts';
import { declarationHash, declarationsOf, declaredTools } from '../../src/core/shelf/declarations.ts';
import { type ShortenedDescription, shorten } from '../../src/core/shelf/shorten.ts';
import { parseMarker } from '../../src/engine/text/marker.ts';
import { anthropicMessages } from '../../src/wires/dialects/anthropic-messages/dialect.ts';
import type { Dialect } from '../../src/wires/dialects/dialect.ts';
import { googleGemini } from '../../src/wires/dialects/google-gemini/dialect.ts';
import { openaiChat } from '../../src/wires/dialects/openai-chat/dialect.ts';
import { openaiResponses } from '../../src/wires/dialects/openai-responses/dialect.ts';

const REST = 'It walks the whole tree below the folder and reads each file to its end. '.repeat(8).trim();
const LONG = `Finds fish. ${REST}\nSecond line.\n\nSecond paragraph. ${REST}`;

const SCHEMA = {
  type: 'object',
  title: LONG,
  properties: {
    description: { type: 'string', description: `A text. ${REST}` },
    mode: { enum: ['a', { description: LONG }], default: { description: LONG }, examples: [{ description: LONG }] },
    list: { type: 'array', items: { anyOf: [{ const: { description: LONG } }, { description: `One. ${REST}` }] } },
  },
  required: ['description'],
};

const dialects = { chat: openaiChat, messages: anthropicMessages, responses: openaiResponses, gemini: googleGemini };

function cutsOf(body: unknown, wire: Dialect['name']): Map<string, readonly ShortenedDescription[]> {
  const declared = declaredTools(Buffer.from(JSON.stringify(body)), wire);
  return new Map(declared.declarations.map((one) => [one.name, shorten(one, declared)]));
}

const shortNames = (body: unknown, wire: Dialect['name']): string[] =>
  [...cutsOf(body, wire)].filter(([, cuts]) => cuts.length > 0).map(([name]) => name);

function spliced(body: Buffer, cuts: readonly ShortenedDescription[]): Buffer {
  const parts: Buffer[] = [];
  let at = 0;
  for (const { literal, text } of cuts) {
    parts.push(body.subarray(at, literal.start), Buffer.from(JSON.stringify(text)));
    at = literal.end;
  }
  return Buffer.concat([...parts, body.subarray(at)]);
}

describe('a shortened description', () => {
  it('keeps its first sentence, and ends with a marker that names the lines that are not completely shown', () => {
    const [cut] =
      cutsOf({ tools: [{ name: 'fish', description: LONG, input_schema: {} }] }, 'messages').get('fish') ?? [];
    const [sentence, marker, ...more] = (cut?.text ?? '').split('\n');
    expect([sentence, more]).toEqual(['Finds fish.', []]);
    const pruneId = keptId(textHash(LONG));
    expect(parseMarker(marker ?? '')).toMatchObject({ pruneId, startLine: 1, endLine: 4 });
    expect(cut).toMatchObject({ original: LONG, cut: { pruneId } });
  });

  it('keeps its first paragraph if the system prompt mentions the tool as a whole word', () => {
    const tools = [{ name: 'fish', description: LONG, input_schema: {} }];
    const kept = (system: string): string => cutsOf({ system, tools }, 'messages').get('fish')?.[0]?.text ?? '';
    expect(kept('Use `fish` often.')).toContain('\nSecond line.\n⟦');
    expect(kept('Tools:\nfish\tfinds')).toContain('\nSecond line.\n⟦');
    expect(kept('Use fishes or catfish or fish_2.')).not.toContain('Second line.');
  });

  it('stays whole if the marker would cost more than it saves', () => {
    expect(
      shortNames({ tools: [{ name: 'a', description: 'One. Two three.', input_schema: {} }] }, 'messages'),
    ).toEqual([]);
  });

  it('is always a description in a schema, never a property or a value with that name', () => {
    const cuts = cutsOf({ tools: [{ name: 'fish', input_schema: SCHEMA }] }, 'messages').get('fish') ?? [];
    expect(cuts.map(({ original }) => original.slice(0, 5))).toEqual(['A tex', 'One. ']);
  });
});

describe('the tools that may be shortened', () => {
  const plain = { name: 'plain', description: LONG, input_schema: {} };

  it('on messages are plain tools: not typed, deferred or chosen, nor recover_text or related tools', () => {
    const named = (name: string, over: object = {}): object => ({ ...plain, name, ...over });
    const body = {
      tool_choice: { type: 'tool', name: 'chosen' },
      tools: [
        ...[plain, named('custom', { type: 'custom' }), named('bash', { type: 'bash_20250124' }), named('chosen')],
        ...[
          named('late', { defer_loading: true }),
          named('recover_text'),
          named('mcp__pruner__recall'),
          named('x__recover_range'),
        ],
      ],
    };
    expect(shortNames(body, 'messages')).toEqual(['plain', 'custom']);
  });

  it('on chat are functions', () => {
    const one = { name: 'plain', description: LONG, parameters: SCHEMA };
    const tools = [
      { type: 'function', function: one },
      { type: 'custom', custom: { name: 'free', description: LONG, format: { type: 'grammar' } } },
    ];
    expect(shortNames({ tools }, 'chat')).toEqual(['plain']);
    const tool_choice = { type: 'function', function: { name: 'plain' } };
    expect(shortNames({ tools, tool_choice }, 'chat')).toEqual([]);
  });

  it('on responses are functions, including those in namespaces and in added tools', () => {
    const one = (name: string, over: object = {}): object => ({
      type: 'function',
      name,
      description: LONG,
      parameters: {},
      ...over,
    });
    const body = {
      tools: [
        one('plain'),
        one('late', { defer_loading: true }),
        { ...one('apply_patch'), type: 'custom', format: { type: 'grammar' } },
        { type: 'namespace', name: 'srv', description: LONG, tools: [one('inner')] },
        { type: 'web_search' },
      ],
      input: [
        { type: 'additional_tools', tools: [one('added')] },
        { type: 'message', role: 'user', content: 'hi' },
      ],
    };
    expect(shortNames(body, 'responses')).toEqual(['plain', 'srv__inner', 'added']);
  });

  it('on Gemini are function declarations that allowedFunctionNames does not name', () => {
    const one = (name: string): object => ({ name, description: LONG, parameters: {} });
    const tools = [{ functionDeclarations: [one('plain'), one('named')] }, { googleSearch: {} }];
    const toolConfig = { functionCallingConfig: { mode: 'ANY', allowedFunctionNames: ['named'] } };
    expect(shortNames({ tools, toolConfig, contents: [] }, 'gemini')).toEqual(['plain']);
  });
});

it('shortening changes only strings under the key description', () => {
  const text = fc.constantFrom(LONG, `É. ${REST}`, 'Short.', `\n\n${LONG}`);
  const schema = fc.letrec<{ node: object }>((tie) => ({
    node: fc.record(
      {
        type: fc.constantFrom('string', 'object'),
        description: text,
        title: text,
        default: fc.record({ description: text }),
        enum: fc.array(fc.record({ description: text }), { maxLength: 2 }),
        properties: fc.dictionary(fc.constantFrom('description', 'items', 'x'), tie('node'), { maxKeys: 1 }),
        items: fc.option(tie('node'), { nil: true, maxDepth: 3 }),
        anyOf: fc.array(tie('node'), { maxLength: 1 }),
      },
      { requiredKeys: ['type'] },
    ),
  })).node;
  const isValue = new Set(['default', 'enum', 'const', 'examples']);
  const bare = (value: unknown, isMap = false): unknown => {
    if (Array.isArray(value)) return value.map((one) => bare(one));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value)
        .filter(([key, held]) => isMap || key !== 'description' || typeof held !== 'string')
        .map(([key, held]) => [key, isValue.has(key) && !isMap ? held : bare(held, key === 'properties' && !isMap)]),
    );
  };
  fc.assert(
    fc.property(schema, text, (input_schema, description) => {
      const value = { tools: [{ name: 'fish', description, input_schema, strict: true }] };
      const body = Buffer.from(JSON.stringify(value));
      const declared = declaredTools(body, 'messages');
      const cuts = declared.declarations.flatMap((one) => shorten(one, declared));
      const after: unknown = JSON.parse(spliced(body, cuts).toString());
      expect(bare(after)).toEqual(bare(value));
      for (const { literal, original } of cuts)
        expect(JSON.parse(body.toString('utf8', literal.start, literal.end))).toBe(original);
    }),
    { numRuns: 30 },
  );
});

it.each(['chat', 'messages', 'responses', 'gemini'] as const)(
  'the list of tools is found before and after the messages of %s',
  (wire) => {
    const tool = { type: 'function', name: 'fish', description: LONG };
    const tools = wire === 'gemini' ? [{ functionDeclarations: [tool] }] : [tool];
    const [key, words] =
      wire === 'gemini' ? ['contents', 'parts'] : [wire === 'responses' ? 'input' : 'messages', 'content'];
    const said = { [key]: [{ role: 'user', [words]: wire === 'gemini' ? [{ text: '"tools"' }] : '"tools":' }] };
    for (const body of [
      { tools, ...said },
      { ...said, tools },
    ]) {
      const bytes = Buffer.from(JSON.stringify(body, null, 1));
      const { outside } = dialects[wire].scan(bytes);
      const declared = declaredTools(bytes, wire).declarations;
      expect(declared).toHaveLength(1);
      expect(declarationsOf(bytes, wire, outside)).toEqual(declared);
    }
  },
);

it('shortened schemas accept and refuse the same values', () => {
  const description = fc.constantFrom(LONG, `É. ${REST}`, 'Short.');
  const leaf = fc.oneof(
    fc.record({ type: fc.constant('string'), description, minLength: fc.nat(3) }, { requiredKeys: ['type'] }),
    fc.record({ type: fc.constantFrom('integer', 'boolean'), description }, { requiredKeys: ['type'] }),
    fc.record({
      enum: fc.uniqueArray(fc.constantFrom('a', 1, true, { description: LONG }), { minLength: 1 }),
      description,
    }),
    fc.record({ const: fc.record({ description: fc.constantFrom(LONG, 'Short.') }), description }),
  );
  const schema = fc.letrec<{ node: object }>((tie) => ({
    node: fc.oneof(
      { depthSize: 'small' },
      leaf,
      fc.record(
        { type: fc.constant('array'), items: tie('node'), description, maxItems: fc.nat(3) },
        { requiredKeys: ['type'] },
      ),
      fc.record({ anyOf: fc.array(tie('node'), { minLength: 1, maxLength: 3 }), description }),
      fc.record(
        {
          type: fc.constant('object'),
          properties: fc.dictionary(fc.constantFrom('description', 'mode', 'x'), tie('node'), { maxKeys: 3 }),
          required: fc.uniqueArray(fc.constantFrom('description', 'mode')),
          additionalProperties: fc.oneof(fc.boolean(), tie('node')),
          description,
        },
        { requiredKeys: ['type'] },
      ),
    ),
  })).node;
  const value = fc.oneof(
    fc.constantFrom('', 'a', 1, true, null, { description: LONG }, { description: 'Short.' }, ['a', 1]),
    fc.dictionary(fc.constantFrom('description', 'mode', 'x'), fc.constantFrom('abc', 1, true, { description: LONG })),
    fc.array(fc.constantFrom('a', 1, { description: LONG }), { maxLength: 4 }),
  );
  let cutsMade = 0;
  fc.assert(
    fc.property(schema, fc.array(value, { minLength: 8, maxLength: 8 }), (made, some) => {
      const { input_schema, values } = JSON.parse(JSON.stringify({ input_schema: made, values: some })) as {
        input_schema: object;
        values: unknown[];
      };
      const body = Buffer.from(JSON.stringify({ tools: [{ name: 'fish', input_schema }] }));
      const declared = declaredTools(body, 'messages');
      const cuts = declared.declarations.flatMap((one) => shorten(one, declared));
      cutsMade += cuts.length;
      const { tools } = JSON.parse(spliced(body, cuts).toString()) as { tools: [{ input_schema: object }] };
      const [before, after] = [input_schema, tools[0].input_schema].map((of) => new Ajv({ strict: false }).compile(of));
      for (const one of values) expect(after?.(one)).toBe(before?.(one));
    }),
    { numRuns: 60 },
  );
  expect(cutsMade).toBeGreaterThan(30);
});

it('the hash of a declaration ignores its cache_control and neighbouring declarations', () => {
  const hashOf = (tools: unknown): string => {
    const body = Buffer.from(JSON.stringify({ tools }));
    const [first] = declaredTools(body, 'messages').declarations;
    return first ? declarationHash(body, first) : '';
  };
  const fish = { name: 'fish', description: 'Finds.', input_schema: {} };
  const cached = { cache_control: { type: 'ephemeral' }, input_schema: {}, description: 'Finds.', name: 'fish' };
  expect(hashOf([cached])).toBe(hashOf([fish, { name: 'other' }]));
  expect(hashOf([{ ...fish, description: 'Finds!' }])).not.toBe(hashOf([fish]));
});
