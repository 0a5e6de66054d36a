import type { SourceType } from '../../src/engine/types.ts';
import { Random as Chance, type Random } from './random.ts';
import { GOALS, makeText } from './texts.ts';
import type { WireName } from './wire-shapes.ts';

export interface Settings {
  readonly minPruneChars: number;
  readonly maxPruneRatio: number;
  readonly minKeepLines: number;
  readonly annotateLines: boolean;
  readonly maxInputChars: number;
}

/** A text and options, right at the engine. */
export interface TextCase {
  readonly kind: 'text';
  readonly text: string;
  readonly goal: string;
  readonly sourceType: SourceType | '';
  readonly origin: 'read' | 'command' | 'search' | 'listing' | 'unknown';
  readonly path: string;
  readonly command: string;
  readonly frameHead: number;
  readonly frameTail: number;
  readonly maxPruneRatio: number;
  readonly minKeepLines: number;
  /** Opinions of another backend, repeated over the lines; empty for none. `-1` stands for `NaN`. */
  readonly opinions: readonly number[];
  /** The work is told to stop when it asks for the n-th time; 0 for never. */
  readonly stopAt: number;
}

/** `prune_text` and `recover_text` over a store. */
export interface CallCase {
  readonly kind: 'call';
  readonly text: string;
  readonly goal: string;
  readonly sourceType: SourceType | '';
  readonly maxPruneRatio: number;
  readonly minKeepLines: number;
  readonly annotateLines: boolean;
  readonly includeMarkers: boolean;
  readonly maxInputChars: number;
  readonly ranges: readonly { readonly start: number; readonly length: number }[];
}

export type Wrap =
  | 'plain'
  | 'parts'
  | 'output-json'
  | 'cline'
  | 'mcp-json'
  | 'mcp-parts'
  | 'wall-time'
  | 'json-string'
  | 'pretty';
export const WRAPS: readonly [Wrap, ...Wrap[]] = [
  'plain',
  'plain',
  'parts',
  'output-json',
  'cline',
  'mcp-json',
  'mcp-parts',
  'wall-time',
  'json-string',
  'pretty',
];
export type FileShape =
  | 'file'
  | 'file_content'
  | 'fence'
  | 'aider'
  | 'named'
  | 'referenced'
  | 'document'
  | 'bare'
  | 'path';
const SHAPES: readonly [FileShape, ...FileShape[]] = [
  'file',
  'file_content',
  'fence',
  'aider',
  'named',
  'referenced',
  'document',
  'bare',
  'path',
];

export type Turn =
  | {
      readonly kind: 'user';
      readonly words: string;
      readonly files: readonly { readonly shape: FileShape; readonly path: string; readonly text: string }[];
      readonly parts: boolean;
      readonly reminder: boolean;
    }
  | {
      readonly kind: 'call';
      readonly tool: string;
      readonly args: string;
      readonly said: string;
      readonly wrap: Wrap;
      readonly text: string;
      readonly legacy: boolean;
      readonly argsAsObject: boolean;
    }
  /** The call of an earlier turn again, with its text up to the digits. */
  | { readonly kind: 'again'; readonly of: number; readonly digits: boolean }
  /** `recover_text` on what was cut before. */
  | { readonly kind: 'recovered'; readonly of: number; readonly wrap: Wrap; readonly named: boolean }
  /** What was forwarded before comes back as a result, with more around it. */
  | { readonly kind: 'fed-back'; readonly of: number; readonly more: string }
  /** A message as it must not be, or hardly. */
  | { readonly kind: 'odd'; readonly raw: string };

export interface Mutation {
  readonly kind: 'flip' | 'drop' | 'insert' | 'cut' | 'copy';
  /** Thousandths of the body. */
  readonly at: number;
  readonly size: number;
  readonly byte: number;
}

/** A conversation as a client sends it, turn by turn. */
export interface ChatCase {
  readonly kind: 'chat';
  readonly wire: WireName;
  readonly settings: Settings;
  readonly style: { readonly seed: number; readonly spaces: number; readonly escapes: number };
  /** Fields beside the messages; raw JSON. */
  readonly before: string;
  readonly after: string;
  readonly movingMark: boolean;
  readonly turns: readonly Turn[];
  /** Done to the last body, as a case of its own. */
  readonly mutations: readonly Mutation[];
  /** The store is a file on disk. */
  readonly onFile: boolean;
}

export type Case = TextCase | CallCase | ChatCase;
export const KINDS = ['text', 'call', 'chat'] as const;

const PATHS = [
  '',
  'src/order.ts',
  'a.py',
  'docs/guide.md',
  '/var/log/app.log',
  'data.json',
  'C:\\x y\\z.rs',
  'Makefile',
] as const;
const COMMANDS = [
  '',
  'npm test',
  'cat src/order.ts',
  'git diff',
  'grep -rn retry src',
  'ls -la',
  'make 2>&1 | tail -99',
] as const;
const TOOLS = [
  'bash',
  'read_file',
  'grep',
  'list_dir',
  'shell',
  'execute_command',
  'mcp__files__read',
  'search_code',
  'fetch',
  'constructor',
  '',
] as const;
const RATIOS = [0.9, 0.9, 0.9, 0.9, 0.7, 1, 1, 0.5, 0.25, 0, 0.999] as const;
const KEEPS = [20, 5, 5, 5, 0, 0, 1, 1, 60] as const;
const SOURCES = ['', '', 'code', 'logs', 'docs'] as const;

/** The case that a seed stands for. */
export function makeCase(seed: number, only?: Case['kind']): Case {
  const random = new Chance(seed);
  const kind = only ?? random.pick(['text', 'text', 'text', 'call', 'call', 'chat', 'chat', 'chat'] as const);
  if (kind === 'text') return textCase(random);
  return kind === 'call' ? callCase(random) : chatCase(random);
}

function textCase(random: Random): TextCase {
  const sourceType = random.pick(SOURCES);
  const isStated = sourceType !== ''; // by `prune_text`, whose callers say nothing else
  return {
    kind: 'text',
    text: makeText(random, random.once(40) ? 700 : 100),
    goal: random.pick(GOALS),
    sourceType,
    origin: isStated ? 'unknown' : random.pick(['read', 'command', 'search', 'listing', 'unknown']),
    path: isStated ? '' : random.pick(PATHS),
    command: isStated ? '' : random.pick(COMMANDS),
    frameHead: random.once(4) ? random.below(9) : 0,
    frameTail: random.once(4) ? random.below(9) : 0,
    maxPruneRatio: random.once(4) ? random.below(1001) / 1000 : random.pick(RATIOS),
    minKeepLines: random.once(40) ? 1_000 : random.pick(KEEPS),
    opinions: random.once(5) ? random.list(random.between(1, 20), () => random.between(-1, 4) / 4) : [],
    stopAt: random.once(8) ? random.between(1, 6) : 0,
  };
}

function callCase(random: Random): CallCase {
  return {
    kind: 'call',
    text: makeText(random),
    goal: random.pick(GOALS),
    sourceType: random.pick(SOURCES),
    maxPruneRatio: random.pick(RATIOS),
    minKeepLines: random.once(40) ? 1_000 : random.pick(KEEPS),
    annotateLines: random.once(3),
    includeMarkers: !random.once(4),
    maxInputChars: random.once(10) ? 500 : 2_000_000,
    ranges: random.list(random.between(1, 4), () => ({
      start: random.between(-1, 200),
      length: random.between(-1, 90),
    })),
  };
}

function chatCase(random: Random): ChatCase {
  const turns = random.between(2, 6);
  return {
    kind: 'chat',
    settings: {
      minPruneChars: random.pick([1, 200, 600, 1_000, 1_000]),
      maxPruneRatio: random.pick(RATIOS),
      minKeepLines: random.once(40) ? 1_000 : random.pick(KEEPS),
      annotateLines: random.once(6),
      maxInputChars: random.once(10) ? 3_000 : 2_000_000,
    },
    style: {
      seed: random.next(),
      spaces: random.once(3) ? random.between(1, 6) : 0,
      escapes: random.once(3) ? random.pick([1, 4, 40]) : 0,
    },
    before: random.pick(BESIDE),
    after: random.once(2) ? '' : random.pick(BESIDE),
    movingMark: random.once(5),
    turns: random.list(turns, (index) => turn(random, index)),
    mutations: random.once(3) ? random.list(random.between(1, 3), () => mutation(random)) : [],
    onFile: random.once(150),
    wire: random.pick(['chat', 'messages', 'responses', 'gemini', 'interactions']),
  };
}

const BESIDE = [
  '"model":"gpt-test"',
  '"model" : "m", "temperature":1.0, "seed":9007199254740993',
  '"x":1e5,"x":-0,"x":{"messages":[{"role":"tool","content":"no"}]},"stream":true',
  '"tools":[{"type":"function","function":{"name":"bash","parameters":{"a\\"b":["]","}"]}}}]',
  '"\\u006dodel":"esc","":null,"stream_options":{"include_usage":true},"prompt_cache_key":"k"',
] as const;

const ODD = [
  'null',
  '"a string"',
  '[]',
  '42',
  '{}',
  '{"role":"tool","tool_call_id":"c0","content":null}',
  '{"role":"tool","content":[]}',
  '{"role":"user","content":{"a":1}}',
  '{"role":"tool","role":"user","content":"two roles"}',
  '{"role":"assistant","content":null,"refusal":null,"tool_calls":[null,{"id":1},{"id":"a","function":null}]}',
  '{"role":"assistant","tool_calls":{"id":"x"}}',
  '{"content":[{"type":"text"},{"text":"x"},{"type":"text","text":5},7,null],"role":"tool"}',
  '{"role":"developer","content":"be terse","cache_control":{"type":"ephemeral"}}',
  '{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/png;base64,AAAA"}}]}',
  '{"role":"\\u0074ool","content":"escaped role"}',
] as const;

function turn(random: Random, index: number): Turn {
  const which = random.below(20);
  if (which < 4 || (index === 0 && !random.once(3))) {
    const files = random.list(random.once(2) ? random.between(1, 2) : 0, () => ({
      shape: random.pick(SHAPES),
      path: random.pick(PATHS),
      text: makeText(random, 90),
    }));
    return { kind: 'user', words: random.pick(GOALS), files, parts: random.once(3), reminder: random.once(4) };
  }
  if (which < 6) return { kind: 'again', of: random.below(8), digits: random.once(2) };
  if (which < 8) return { kind: 'recovered', of: random.below(8), wrap: random.pick(WRAPS), named: random.once(2) };
  if (which < 10) return { kind: 'fed-back', of: random.below(8), more: makeText(random, 60) };
  if (which < 11) return { kind: 'odd', raw: oddMessage(random) };
  return {
    kind: 'call',
    tool: random.pick(TOOLS),
    args: argsText(random),
    said: random.once(2) ? '' : 'I look at the retry of the payment.',
    wrap: random.pick(WRAPS),
    text: makeText(random, 90),
    legacy: random.once(8),
    argsAsObject: random.once(12),
  };
}

function argsText(random: Random): string {
  if (random.once(10))
    return random.pick([
      '',
      '{',
      'null',
      '[1]',
      '"x"',
      '{"a":{"b":{"c":{"path":"x.ts"}}}}',
      '{"__proto__":{"path":1}}',
    ]);
  const args: Record<string, unknown> = {};
  if (random.once(2)) args.path = random.pick(PATHS);
  if (random.once(2)) args.command = random.once(3) ? ['bash', '-lc', random.pick(COMMANDS)] : random.pick(COMMANDS);
  if (random.once(3)) args.pattern = random.pick(GOALS);
  if (random.once(6)) args.context_focus_question = random.pick(GOALS);
  return JSON.stringify(args);
}

/** An odd message; some hold a large text that must stay, since they say two things at once. */
function oddMessage(random: Random): string {
  if (!random.once(3)) return random.pick(ODD);
  const text = JSON.stringify(makeText(random, 80));
  return random.pick([
    `{"role":"tool","content":${text},"content":"x"}`,
    `{"role":"tool","content":"x","content":${text}}`,
    `{"role":"tool","role":"tool","content":${text}}`,
    `{"role":"tool","content":[{"type":"text","text":"x","text":${text}}]}`,
    `{"role":"tool","content":[{"type":"text","type":"x","text":${text}}]}`,
    `{"role":"assistant","content":${text}}`,
    `{"role":"system","content":${text}}`,
    `{"role":"tool","tool_call_id":"a","tool_call_id":"b","content":${text}}`,
  ]);
}

function mutation(random: Random): Mutation {
  return {
    kind: random.pick(['flip', 'drop', 'insert', 'cut', 'copy']),
    at: random.below(1001),
    size: random.pick([1, 1, 2, 7, 200]),
    byte: random.pick([
      0x22, 0x5c, 0x7b, 0x7d, 0x5b, 0x5d, 0x2c, 0x3a, 0x00, 0x0a, 0xff, 0xc3, 0xed, 0x80, 0x75, 0x20, 0x31,
    ]),
  };
}
