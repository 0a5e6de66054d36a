import { expect, it } from 'vitest';
import { scanChatBody } from '../../../src/wires/dialects/openai-chat/scan.ts';
import { JsonShapeError } from '../../../src/wires/json/cursor.ts';

/** Texts after the kinds of JSONTestSuite. `\x80` to `\xff` are single bytes. */
const JSON_TEXTS = [
  ...[
    '[]',
    '{}',
    '[[]]',
    '[{}]',
    '{"":0}',
    '{"a":[]}',
    '[ 4]',
    ' [] ',
    '\t\n\r []\r\n',
    '0',
    '-0',
    '-1',
    '"a"',
    'true',
    'null',
  ],
  ...[
    '[123e65]',
    '[0e+1]',
    '[0e1]',
    '[-0]',
    '[1E22]',
    '[1E-2]',
    '[1E+2]',
    '[123.456e78]',
    '[1e-2]',
    '[-123]',
    '[20e1]',
  ],
  ...['[1e9999]', '[-1e-9999]', '[123123123123123123123123123123]', `[${'0.'.padEnd(90, '1')}]`],
  ...['{"a":1,"a":2}', '{"a":null,"\\u0000":1}', '{"\\udfff":1}', '{"a":"b","a":"b"}', '{"x":[{"id": "x"}]}'],
  ...[
    '["\\"\\\\\\/\\b\\f\\n\\r\\t"]',
    '["\\u0060\\u012a\\u12AB"]',
    '["\\u0000"]',
    '["\\uD801\\udc37"]',
    '["\\uffff"]',
    '["\\\\u0000"]',
  ],
  ...['["\\ud800"]', '["\\udc00\\ud800"]', '["\\uD800\\n"]', '["\\ud83d\\ud83d\\ude00"]', '["a/*b*/c"]', '["\x7f"]'],
  ...[
    '["\xe2\x80\xa8\xe2\x80\xa9"]',
    '["\xf0\x9f\x98\x80"]',
    '["\xef\xbb\xbf"]',
    '["\xef\xbf\xbf"]',
    '["\xf4\x8f\xbf\xbf"]',
    '["\xc2\x80"]',
  ],
  ...['[[[[[[]]]]]]', `${'['.repeat(500)}${']'.repeat(500)}`, '[1,null,"a",{"b":[false]}]', '{"a" : 1 , "b":2}'],
];

const NO_JSON_TEXTS = [
  ...[
    '',
    ' ',
    '[',
    ']',
    '{',
    '}',
    '[1',
    '[1,',
    '[,1]',
    '[1,,2]',
    '[1,]',
    '[,]',
    '[""],',
    '["" ',
    '[1}',
    '{"a":1]',
    '[[]',
    '[]]',
    '[3[4]]',
  ],
  ...[
    '{,}',
    '{"a"}',
    '{"a":}',
    '{:1}',
    '{"a"::1}',
    '{"a":1,}',
    '{"a":1,,"b":2}',
    '{"a" 1}',
    '{"a":1 "b":2}',
    '{1:1}',
    '{a:1}',
    "{'a':1}",
  ],
  ...[
    '{null:1}',
    '{"a":"b"}#',
    '{"a":true} "x"',
    '{"a":"b",/**/}',
    '[1]//',
    '/**/[]',
    '#[]',
    '[1:2]',
    '{"a",1}',
    '{[:1}',
    '{"a":[}',
  ],
  ...[
    '01',
    '-01',
    '+1',
    '++1',
    '-',
    '--1',
    '- 1',
    '-a',
    '1.',
    '.5',
    '-.5',
    '-2.',
    '0.e1',
    '2.e3',
    '0.3e',
    '0.3e+',
    '1e',
    '1e+',
    '1eE2',
    '1.0e-',
  ],
  ...[
    '0x1',
    '1_000',
    '1 000',
    '1+2',
    '1a',
    '0e',
    '0E+',
    '9.e+',
    'Infinity',
    '-Infinity',
    'NaN',
    '-NaN',
    '1/2',
    '\xef\xbc\x91',
    '1.8011670033376514H-308',
  ],
  ...[
    'nul',
    'nulll',
    'tru',
    'truee',
    'True',
    'FALSE',
    'undefined',
    '*',
    '<null>',
    '[a',
    '["a",b]',
    '["x"',
    '["',
    '"a',
    "'a'",
    '"',
    'a',
  ],
  ...[
    '"\\"',
    '"\\',
    '["\\x00"]',
    '["\\a"]',
    '["\\u"]',
    '["\\u1"]',
    '["\\u123"]',
    '["\\u00g0"]',
    '["\\U0041"]',
    '["\\uD834\\u"]',
    '["\\u D8"]',
  ],
  ...[
    '["\n"]',
    '["\t"]',
    '["\r"]',
    '["\x00"]',
    '["\x1f"]',
    '["a\x00a"]',
    '["\\\n"]',
    '["\\\x00"]',
    '[\\n]',
    '["a"\\]',
    '\\"a\\"',
    '["\\\xe5"]',
  ],
  ...[
    '[\x00]',
    '[\x0b1]',
    '[\x0c]',
    '[\xa0]',
    '[\xe2\x81\xa0]',
    '\xef\xbb\xbf{}',
    '\xef\xbb{}',
    '\xff\xfe[\x00]\x00',
    '\x00[\x00]',
    '["a\xe5"]',
  ],
  ...[
    '["\xff"]',
    '["\x81"]',
    '["\xc0\xaf"]',
    '["\xe0\xff"]',
    '["\xfc\x80\x80\x80\x80\x80"]',
    '["\xed\xa0\x80"]',
    '["\xf4\x90\x80\x80"]',
    '["\xe6\x97\xa5\xd1"]',
  ],
  ...['[1]x', '[1]\x00', '[] []', '{} {}', '1 2', '"" ""', '[1]]', `${'['.repeat(500)}`, '{"a":'.repeat(100)],
];

/** Whether a body with this member that is not read is JSON for the proxy. */
function accepts(text: string): boolean {
  const bytes = Buffer.from(`{"model":"m","x":${text},"messages":[]}`, 'latin1');
  try {
    return scanChatBody(bytes).model === 'm';
  } catch (cause) {
    if (cause instanceof JsonShapeError) return false;
    throw cause;
  }
}

/** What RFC 8259 calls JSON, by the decoder and the parser of the platform. */
function isJson(text: string): boolean {
  try {
    JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(Buffer.from(text, 'latin1')));
    return true;
  } catch {
    return false;
  }
}

it.each([
  [true, JSON_TEXTS],
  [false, NO_JSON_TEXTS],
])('a member that nobody reads is checked as the platform checks JSON: %s', (expected, texts) => {
  for (const text of texts) expect([text, isJson(text), accepts(text)]).toEqual([text, expected, expected]);
  expect(texts.length).toBeGreaterThan(50);
});
