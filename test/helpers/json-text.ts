import fc from 'fast-check';

/** Every way to write a character inside a JSON string. */
function spellings(unit: string): string[] {
  const code = unit.charCodeAt(0);
  const hex = code.toString(16).padStart(4, '0');
  const escapes = [`\\u${hex}`, `\\u${hex.toUpperCase()}`];
  const short = {
    '"': '\\"',
    '\\': '\\\\',
    '/': '\\/',
    '\b': '\\b',
    '\f': '\\f',
    '\n': '\\n',
    '\r': '\\r',
    '\t': '\\t',
  };
  const named = short[unit as keyof typeof short];
  if (named !== undefined) escapes.unshift(named);
  const plain = code >= 0x20 && unit !== '"' && unit !== '\\' && (code < 0xd800 || code > 0xdfff);
  // Plain characters stay plain mostly, as clients write them.
  return plain ? [unit, unit, unit, ...escapes] : escapes;
}

/** A JSON string without its quotes that stands for `text`, spelled by chance. */
export function spelled(text: string): fc.Arbitrary<string> {
  return fc.infiniteStream(fc.nat(1000)).map((chance) => {
    let out = '';
    for (let i = 0; i < text.length; i++) {
      const unit = text.charAt(i);
      const pair = text.codePointAt(i) ?? 0;
      const ways = pair > 0xffff ? [String.fromCodePoint(pair)] : spellings(unit);
      out += ways[(chance.next().value ?? 0) % ways.length];
      if (pair > 0xffff) i++;
    }
    return out;
  });
}

/** Text with everything in it that is hard in JSON. */
export const trickyText: fc.Arbitrary<string> = fc
  .array(
    fc.oneof(
      { weight: 3, arbitrary: fc.string({ maxLength: 12 }) },
      fc.constantFrom(
        '\n',
        '\r\n',
        '"',
        '\\',
        '\\"',
        '\\\\',
        '\t',
        '/',
        'é',
        '😀',
        '\ud83d',
        '\ude00',
        '\0',
        '\u2028',
        '⟦',
        '{"a":"b"}',
      ),
    ),
    { maxLength: 12 },
  )
  .map((parts) => parts.join(''));

const space = fc.constantFrom('', '', '', ' ', '\n', '\t\r\n  ');

/** A JSON string with its quotes. */
export const stringLiteral: fc.Arbitrary<string> = trickyText.chain(spelled).map((inner) => `"${inner}"`);

const scalar = fc.oneof(
  fc.constantFrom('null', 'true', 'false', '0', '-0', '1.0', '1e5', '-2.50E-3', '9007199254740993', '1E+2'),
  stringLiteral,
);

/** `{…}` of members in this order, white space by chance. */
export function objectText(members: readonly (readonly [key: string, value: string])[]): fc.Arbitrary<string> {
  return fc.array(space, { minLength: members.length * 4 + 1, maxLength: members.length * 4 + 1 }).map((gaps) => {
    const gap = (): string => gaps.pop() ?? '';
    return `{${gap()}${members.map(([key, value]) => `${gap()}${key}${gap()}:${gap()}${value}${gap()}`).join(',')}}`;
  });
}

/** `[…]`, white space by chance. */
export function arrayText(items: readonly string[]): fc.Arbitrary<string> {
  return fc.array(space, { minLength: items.length * 2 + 1, maxLength: items.length * 2 + 1 }).map((gaps) => {
    const gap = (): string => gaps.pop() ?? '';
    return `[${gap()}${items.map((item) => `${gap()}${item}${gap()}`).join(',')}]`;
  });
}

/** Any JSON value, spelled by chance: odd numbers, escapes, white space, duplicate keys. */
export const jsonText: fc.Arbitrary<string> = fc.letrec<{ value: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    scalar,
    fc.array(tie('value'), { maxLength: 4 }).chain(arrayText),
    fc.array(fc.tuple(stringLiteral, tie('value')), { maxLength: 4 }).chain(objectText),
  ),
})).value;
