import { expect } from 'vitest';
import type { Dialect, ScannedMessage } from '../../../src/wires/dialects/dialect.ts';
import type { BodyWalk, WalkShape } from '../../../src/wires/json/walk.ts';

/** A source of random whole numbers below `n`. */
type Below = (n: number) => number;

/** Numbers that are the same in every run. */
export function below(seed: number): Below {
  let state = seed >>> 0 || 1;
  return (n) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * n);
  };
}

const KEYS =
  'role content type text name tool_call_id tool_calls function_call function arguments id url image_url data parts output input tool_use_id call_id source summary model contents messages functionResponse response'.split(
    ' ',
  );
const ROLES = 'user assistant tool system developer function model message function_call function_call_output'.split(
  ' ',
);
const LISTS = ['content', 'parts', 'output'];
const TYPES = 'text input_text output_text tool_result document image thinking tool_use'.split(' ');
const TEXTS = 'text content source output stdout functionResponse function_response'.split(' ');
const ODD_STRINGS = [
  '"\\ud800"',
  '"\\u0000"',
  '"\\"',
  '"\n"',
  '"\\x"',
  '"\\u12"',
  '"é😀"',
  '"\\/\\b\\f"',
  '""',
  '"prn_"',
];
const ODD_VALUES = [
  '01',
  '-',
  '1e999',
  '1.',
  '.5',
  'nul',
  'true',
  '[]',
  '{}',
  '[,]',
  '{"a"}',
  '-0',
  '1E+2',
  '[[[[]]]]',
  'NaN',
];

/** A JSON text of about the shape of a request, with whatever makes readers disagree. */
export function randomBody(pick: Below, list: string): string {
  const blank = (): string => (pick(12) === 0 ? ([' ', '\n', '\t', '\r\n', '\f', '\u00a0'][pick(6)] ?? '') : '');
  const string = (): string => {
    const kind = pick(14);
    if (kind === 0) return ODD_STRINGS[pick(ODD_STRINGS.length)] ?? '""';
    if (kind < 3) return JSON.stringify('x'.repeat(pick(600)));
    if (kind === 3) return JSON.stringify(`${'line "quoted" \\ \n'.repeat(pick(20))}é`);
    if (kind === 4) return `"${'\\u0061'.repeat(pick(40))}"`;
    return JSON.stringify(ROLES[pick(ROLES.length)]);
  };
  const key = (): string => {
    const name = KEYS[pick(KEYS.length)] ?? '';
    if (pick(40) === 0) return `"\\u00${name.charCodeAt(0).toString(16)}${name.slice(1)}"`;
    return JSON.stringify(name);
  };
  const value = (depth: number): string => {
    const kind = pick(depth > 4 ? 3 : 9);
    if (kind < 2) return string();
    if (kind === 2) return pick(8) === 0 ? (ODD_VALUES[pick(ODD_VALUES.length)] ?? '0') : String(pick(1000) - 500);
    if (kind < 5) return string();
    const count = pick(4);
    const items = Array.from({ length: count }, () => (kind < 7 ? value(depth + 1) : field(depth + 1)));
    const inside = items.join(`${blank()},${blank()}`);
    return kind < 7 ? `[${blank()}${inside}${blank()}]` : `{${blank()}${inside}${blank()}}`;
  };
  const field = (depth: number): string => `${key()}${blank()}:${blank()}${value(depth)}`;
  const part = (): string => {
    const type = `"type":${JSON.stringify(TYPES[pick(TYPES.length)])}`;
    const inner = pick(3) === 0 ? `{"type":"text",${field(4)},"data":${string()}}` : string();
    const fields = [
      type,
      `"${TEXTS[pick(TEXTS.length)]}":${inner}`,
      ...Array.from({ length: pick(2) }, () => field(4)),
    ];
    return `{${(pick(2) === 0 ? fields : fields.reverse()).join()}}`;
  };
  const message = (): string => {
    if (pick(30) === 0) return value(1);
    const role = `"role":${JSON.stringify(ROLES[pick(ROLES.length)])}`;
    const type = pick(2) === 0 ? [`"type":${JSON.stringify(ROLES[pick(ROLES.length)])}`] : [];
    const parts = [
      ...(pick(6) === 0 ? [`"${LISTS[pick(LISTS.length)]}":[${Array.from({ length: pick(3) }, part).join()}]`] : []),
      ...(pick(10) === 0 ? [] : [role]),
      ...type,
      `"${['content', 'parts', 'output'][pick(3)]}":${pick(3) === 0 ? value(2) : string()}`,
      ...Array.from({ length: pick(3) }, () => field(2)),
    ];
    const order = pick(2) === 0 ? parts : parts.reverse();
    return `{${blank()}${order.join(`${blank()},`)}}`;
  };
  const messages = `[${Array.from({ length: pick(6) }, message).join(`,${blank()}`)}]`;
  const outer = [
    ...Array.from({ length: pick(3) }, () => field(3)),
    `"${list}":${blank()}${pick(30) === 0 ? value(1) : messages}`,
    ...Array.from({ length: pick(3) }, () => field(3)),
  ];
  const whole = `${pick(60) === 0 ? '\ufeff' : ''}${blank()}{${outer.join(`${blank()},`)}}${blank()}`;
  return damaged(whole, pick);
}

/** Now and then a byte too few, too many, or another one. */
function damaged(text: string, pick: Below): string {
  if (pick(3) !== 0) return text;
  const at = pick(text.length + 1);
  const kind = pick(4);
  if (kind === 0) return text.slice(0, at);
  if (kind === 1) return text.slice(0, at) + text.slice(at + 1);
  const byte = ['"', '{', '}', '[', ']', ',', ':', '\\', ' ', '\u0001', 'x', '0'][pick(12)] ?? '';
  return text.slice(0, at) + byte + text.slice(kind === 2 ? at : at + 1);
}

/** The longest string of some messages that the wire could cut, in bytes with its quotes. */
function longestIn(messages: readonly ScannedMessage[]): number {
  let longest = 0;
  for (const { role, texts } of messages) {
    if (role === 'other' || role === 'assistant') continue;
    for (const { use, literal } of texts) {
      if (use === 'result' || use === 'words' || use === 'document')
        longest = Math.max(longest, literal.end - literal.start);
    }
  }
  return longest;
}

/**
 * Compares the walk with `JSON.parse` and with the dialect, for one body and for each place from which it can go on.
 *
 * @returns whether the walk accepted the whole body
 */
export function compare(dialect: Dialect, shape: WalkShape, walk: BodyWalk, text: string): boolean {
  const body = Buffer.from(text);
  const isAccepted = walk.walk(body, 0, shape);
  if (!isAccepted) return false;
  const { longest, messages, end } = walk;
  JSON.parse(text);
  const scanned = dialect.scan(body);
  expect([scanned.messages.length, scanned.messages.at(-1)?.span.end], text).toEqual([messages, end]);
  expect(longest, text).toBeGreaterThanOrEqual(longestIn(scanned.messages));
  for (const [i, { span }] of scanned.messages.entries()) {
    expect(walk.walk(body, span.end, shape), text).toBe(true);
    expect([walk.messages, walk.end], text).toEqual([messages - i - 1, end]);
    const rest = scanned.messages.slice(i + 1);
    expect(walk.longest, text).toBeGreaterThanOrEqual(longestIn(rest));
    // an answer proves that earlier cuts were accepted, so it may not be made up; an ambiguous message is no text
    const isAnswer = ({ role, opaque }: ScannedMessage): boolean => role === 'assistant' || opaque;
    if (walk.isAnswered) expect(rest.some(isAnswer), text).toBe(true);
  }
  return true;
}
