import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Numbers that are the same in every run. */
export function generator(seed: number): () => number {
  let state = seed >>> 0 || 1;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

const WORDS =
  'request handler session token cache index config user order invoice retry timeout queue worker parse render'.split(
    ' ',
  );
const PATHS = ['/v1/items', '/v1/orders', '/v1/users', '/healthz', '/v1/search'];

/** A service log: mostly requests, now and then something else. */
export function serviceLog(chars: number, random: () => number): string {
  const lines: string[] = [];
  let size = 0;
  for (let i = 0; size < chars; i++) {
    const time = new Date(Date.UTC(2026, 0, 1) + i * 137).toISOString();
    const word = (): string => WORDS[Math.floor(random() * WORDS.length)] ?? '';
    const path = PATHS[Math.floor(random() * PATHS.length)] ?? '';
    const line =
      random() < 0.01
        ? `${time} ERROR ${word()} failed: ${word()} ${word()} not found (id=${Math.floor(random() * 1e6)})`
        : `${time} INFO  "GET ${path}/${Math.floor(random() * 1e5)}" 200 ${Math.floor(random() * 90)}ms ip=10.0.${Math.floor(random() * 255)}.7`;
    lines.push(line);
    size += line.length + 1;
  }
  return lines.join('\n');
}

/** Lines of this project's own source, file after file: code as people write it, and as hard to compress. */
let sourceLines: readonly string[] | undefined;

function readSource(): readonly string[] {
  const folder = join(process.env.MCP_PRUNER_BENCH_ROOT ?? process.cwd(), 'src');
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
  return files.sort().flatMap((name) => readFileSync(join(folder, name), 'utf8').split('\n'));
}

/** Source code from a place on that is drawn; under a line of its own, so that no two are the same text. */
export function sourceFile(chars: number, random: () => number): string {
  sourceLines ??= readSource();
  const from = Math.floor(random() * sourceLines.length);
  const lines = [`// part ${from} of ${Math.floor(random() * 2 ** 32)}`];
  for (let i = from, size = 0; size < chars; i++) {
    const line = sourceLines[i % sourceLines.length] ?? '';
    lines.push(line);
    size += line.length + 1;
  }
  return lines.join('\n');
}

interface Message {
  readonly role: string;
  readonly content: string | null;
  readonly tool_call_id?: string;
  readonly tool_calls?: readonly unknown[];
}

interface ToolResult {
  readonly id: string;
  readonly name: string;
  readonly args: object;
  readonly content: string;
}

/** Calls made at once, and what came of them. */
export function toolTurn(...results: readonly ToolResult[]): Message[] {
  const calls = results.map(({ id, name, args }) => ({
    id,
    type: 'function',
    function: { name, arguments: JSON.stringify(args) },
  }));
  return [
    { role: 'assistant', content: null, tool_calls: calls },
    ...results.map(({ id, content }) => ({ role: 'tool', tool_call_id: id, content })),
  ];
}

const START: readonly Message[] = [
  { role: 'system', content: 'You are a coding agent. '.repeat(40) },
  { role: 'user', content: 'Why do orders fail with a timeout in the session cache?' },
];

export function bodyOf(messages: readonly Message[], stream = false): Buffer {
  return Buffer.from(JSON.stringify({ model: 'bench', messages, stream }));
}

/** About 2 KB, nothing to prune. */
export function smallBody(): Buffer {
  return bodyOf([...START, { role: 'user', content: 'Go on. '.repeat(120) }]);
}

/** A body of a given size whose tool results are all below the smallest size that is pruned. */
export function plainBody(bytes: number): Buffer {
  const random = generator(7);
  const messages: Message[] = [...START];
  for (let i = 0, size = 0; size < bytes; i++) {
    const content = serviceLog(3_000, random);
    messages.push(...toolTurn({ id: `call_${i}`, name: 'bash', args: { command: `step ${i}` }, content }));
    size += 3_500;
  }
  return bodyOf(messages);
}

/** What a command printed, or a file, by turns. */
function result(i: number, seed: number, chars: number, random: () => number): ToolResult {
  const id = `call_${seed}_${i}`;
  return i % 2 === 0
    ? { id, name: 'bash', args: { command: `npm run job${i}` }, content: serviceLog(chars, random) }
    : { id, name: 'read_file', args: { path: `src/job${i}.ts` }, content: sourceFile(chars, random) };
}

/**
 * A body of a given size with large tool results, which no answer stands behind yet, so that all of them are new; another
 * seed, other texts.
 */
export function largeBody(bytes: number, seed: number): Buffer {
  const random = generator(seed);
  const results: ToolResult[] = [];
  for (let i = 0, size = 0; size < bytes; i++) {
    const chars = Math.min(bytes - size, 50_000);
    results.push(result(i, seed, chars, random));
    size += chars + 300;
  }
  return bodyOf([...START, ...toolTurn(...results)]);
}

/** The growing bodies of one conversation: each turn brings a tool result of 8 to 40 KB. */
export function conversation(turns: number, seed: number): Buffer[] {
  const random = generator(seed);
  const messages: Message[] = [...START];
  const bodies: Buffer[] = [];
  for (let i = 0; i < turns; i++) {
    const chars = 8_000 + Math.floor(random() * 32_000);
    messages.push(...toolTurn(result(i, seed, chars, random)));
    if (i % 15 === 14)
      messages.push(
        { role: 'assistant', content: 'Done.' },
        { role: 'user', content: `Now look at the ${WORDS[i % WORDS.length]}.` },
      );
    bodies.push(bodyOf(messages));
  }
  return bodies;
}

/** What all bodies of a conversation bring anew, in megabytes: the last one holds it. */
export function newMb(bodies: readonly Buffer[]): number {
  return (bodies.at(-1)?.length ?? 0) / 1e6;
}

/** Next requests of a conversation that bring a word each. */
export function goingOn(body: Buffer, count: number): Buffer[] {
  const end = body.lastIndexOf(']');
  return Array.from({ length: count }, (_, i) => {
    const message = JSON.stringify({ role: 'user', content: `Go on, step ${i}.` });
    return Buffer.concat([body.subarray(0, end), Buffer.from(`,${message}`), body.subarray(end)]);
  });
}
