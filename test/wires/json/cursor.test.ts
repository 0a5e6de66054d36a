import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decodeString, JsonCursor, JsonShapeError } from '../../../src/wires/json/cursor.ts';
import { cpuMs } from '../../helpers/cpu-time.ts';
import { jsonText, objectText, stringLiteral } from '../../helpers/json-text.ts';

function wholeValue(text: string): boolean {
  const bytes = Buffer.from(text);
  const cursor = new JsonCursor(bytes);
  const { start, end } = cursor.value();
  if (cursor.peek() !== undefined) throw new JsonShapeError('more');
  return start >= 0 && end <= bytes.length;
}

/** `true`, `false` for a shape error; anything else is thrown on. */
function accepts(text: string): boolean {
  try {
    return wholeValue(text);
  } catch (error) {
    if (error instanceof JsonShapeError) return false;
    throw error;
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

describe('JsonCursor', () => {
  it('skips any JSON value exactly, however it is spelled', () => {
    fc.assert(
      fc.property(
        jsonText,
        fc.constantFrom('', ' ', '\n\t '),
        fc.constantFrom('', ',', '}', ' ]'),
        (text, before, after) => {
          const bytes = Buffer.from(before + text + after);
          const { start, end } = new JsonCursor(bytes).value();
          expect(bytes.toString('utf8', start, end)).toBe(text.trim());
        },
      ),
    );
  });

  it('accepts exactly what JSON.parse accepts', () => {
    const change = fc.record({
      at: fc.nat(400),
      by: fc.constantFrom(
        '',
        '"',
        '\\',
        '{',
        '}',
        ',',
        ':',
        '[',
        ']',
        '0',
        'x',
        'u',
        ' ',
        '\n',
        '\t',
        '\u0000',
        '\u001f',
      ),
    });
    fc.assert(
      fc.property(jsonText, fc.array(change, { maxLength: 3 }), fc.option(fc.nat(400)), (text, changes, cut) => {
        let mangled = text;
        for (const { at, by } of changes) mangled = mangled.slice(0, at) + by + mangled.slice(at + 1);
        if (cut !== null) mangled = mangled.slice(0, cut);
        expect(accepts(mangled)).toBe(isJson(mangled));
      }),
      { numRuns: 1_000 },
    );
  });

  it('reports every key with the range of its value, duplicates included', () => {
    fc.assert(
      fc.property(
        fc
          .array(fc.tuple(stringLiteral, jsonText), { maxLength: 6 })
          .chain((members) => fc.tuple(fc.constant(members), objectText(members))),
        ([members, text]) => {
          const cursor = new JsonCursor(Buffer.from(text));
          const seen: [string, string][] = [];
          cursor.object((key) => {
            const { start, end } = cursor.value();
            seen.push([key, cursor.bytes.toString('utf8', start, end)]);
          });
          expect(seen.map(([, value]) => value)).toEqual(members.map(([, value]) => value.trim()));
          const ascii = members.map(([key]) => JSON.parse(key) as string);
          seen.forEach(([key], i) => {
            if (/^[\x20-\x7e]{0,40}$/.test(ascii[i] ?? '')) expect(key).toBe(ascii[i]);
          });
        },
      ),
    );
  });

  it('refuses more values than its limit, wherever they are', () => {
    const dense = Buffer.from(`{"a":[${'{},'.repeat(600_000)}{}],"b":[${'{},'.repeat(600_000)}{}]}`);
    expect(() => new JsonCursor(dense).object(() => {})).toThrow(
      expect.objectContaining({ code: 'too_many_messages' }),
    );
  });

  it('refuses a million nested lists', () => {
    const levels = 1_000_002; // the innermost list is empty, and closes at once
    expect(accepts(`${'['.repeat(levels)}${']'.repeat(levels)}`)).toBe(false);
  });

  it.each([
    ['an array', '[', ']'],
    ['an object', '{"a":', '}'],
  ])('skips %s nested 100,000 deep', (_name, open, close) => {
    const deep = `${open.repeat(100_000)}0${close.repeat(100_000)}`;
    expect(accepts(deep)).toBe(true);
    expect(accepts(deep.slice(0, -1))).toBe(false);
  });

  it.each([
    ['escaped quotes', '\\"'],
    ['backslashes', '\\\\'],
    ['quotes behind runs of backslashes', `${'\\\\'.repeat(50)}\\"`],
    ['unicode escapes', '\\u0022'],
    ['escaped quotes far apart', `${'x'.repeat(200)}\\"`],
    ['escaped quotes just out of reach of one another', `\\"${'\\\\'.repeat(48)}`],
  ])('skips a string of 8 MB full of %s without slowing down', (_name, unit) => {
    const text = `"${unit.repeat(Math.ceil(8_000_000 / unit.length))}"`;
    const startedAt = cpuMs();
    expect(accepts(text)).toBe(true);
    expect(accepts(text.slice(0, -1))).toBe(false);
    expect(cpuMs() - startedAt).toBeLessThan(2_000);
  });

  it.each([
    '',
    ' ',
    '{',
    '[1,]',
    '{"a"}',
    '{"a":1,}',
    '{a:1}',
    "'a'",
    '01',
    '+1',
    '1.',
    '.5',
    'nul',
    'NaN',
    '"',
    '"\\"',
    '\ufeff{}',
    '[1 2]',
    '{"a":1 "b":2}',
    '{} {}',
    ']',
  ])('refuses %j', (text) => expect(accepts(text)).toBe(false));
});

describe('decodeString', () => {
  it('reads a string as JSON.parse does', () => {
    fc.assert(
      fc.property(stringLiteral, (literal) => {
        const bytes = Buffer.from(`[${literal}]`);
        expect(decodeString(bytes, 1, bytes.length - 1)).toBe(JSON.parse(literal));
      }),
    );
  });

  it('returns null for bytes that are not UTF-8, because they could not be restored', () => {
    const bytes = Buffer.concat([Buffer.from('"a'), Buffer.from([0xc3, 0x28]), Buffer.from('"')]);
    expect(decodeString(bytes, 0, bytes.length)).toBeNull();
    const surrogate = Buffer.concat([Buffer.from('"'), Buffer.from([0xed, 0xa0, 0xbd]), Buffer.from('"')]);
    expect(decodeString(surrogate, 0, surrogate.length)).toBeNull();
  });

  it('returns a replacement character that the client sent itself', () => {
    const bytes = Buffer.from('"a\ufffdb"');
    expect(decodeString(bytes, 0, bytes.length)).toBe('a\ufffdb');
  });

  it.each(['"a\nb"', '"\\x"', '"\\u12"', '12', '{}'])('returns null for %j', (text) => {
    const bytes = Buffer.from(text);
    expect(decodeString(bytes, 0, bytes.length)).toBeNull();
  });
});
