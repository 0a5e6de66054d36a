import { randomFrom } from '../../test/helpers/random.ts';
import { serverLog, sourceFile } from '../../test/helpers/texts.ts';

/** A turn of an agent: what its model said and called before, and what then came. The first one is the user's question. */
export interface AgentTurn {
  readonly said: { readonly words: string; readonly tool: string; readonly args: object } | null;
  readonly heard: string;
  /** Tokens that the model thought before it said that. */
  readonly thinks: number;
}

const WORDS =
  'The order fails because its payment was refused twice and no retry follows so we should look at the queue handler first then check whether the cache holds a stale session before changing anything else in the worker'.split(
    ' ',
  );

/** A conversation that follows from its seed alone: logs, source files, searches and short results, short and long answers. */
export function conversation(seed: number, own: readonly string[] = []): AgentTurn[] {
  const next = randomFrom(seed);
  const upTo = (limit: number): number => Math.floor(next() * limit);
  const prose = (words: number): string => Array.from({ length: words }, () => WORDS[upTo(WORDS.length)]).join(' ');
  const file = (): string =>
    own.length === 0 ? sourceFile(10 + upTo(45), seed + upTo(90)) : linesOf(own, upTo(own.length), 60 + upTo(500));
  const results: readonly (readonly [tool: string, args: () => object, result: () => string])[] = [
    ['bash', () => ({ command: `npm run job-${upTo(99)}` }), () => serverLog(60 + upTo(300), upTo(900))],
    ['bash', () => ({ command: `npm test -- part-${upTo(99)}` }), () => testRun(40 + upTo(200), upTo)],
    ['read_file', () => ({ path: `src/part-${upTo(99)}.ts` }), file],
    ['read_file', () => ({ path: `src/unit-${upTo(99)}.ts` }), file],
    ['grep', () => ({ pattern: WORDS[upTo(WORDS.length)] }), () => found(20 + upTo(150), upTo)],
    ['bash', () => ({ command: 'git status' }), () => `On branch main\nnothing to commit, ${prose(4)}`],
    ['edit_file', () => ({ path: `src/part-${upTo(99)}.ts`, new_string: sourceFile(1 + upTo(4), seed) }), () => 'done'],
  ];
  const turns: AgentTurn[] = [{ said: null, heard: `Case ${seed}: why does ${prose(8 + upTo(30))}?`, thinks: 0 }];
  const length = 3 + upTo(9);
  for (let i = 0; i < length; i++) {
    const [tool, args, result] = results[upTo(results.length)] ?? results[0] ?? fail();
    const words = prose(upTo(3) === 0 ? 60 + upTo(200) : 5 + upTo(25));
    turns.push({
      said: { words, tool, args: args() },
      heard: result(),
      thinks: upTo(2) === 0 ? upTo(2_500) : upTo(200),
    });
  }
  return turns;
}

function fail(): never {
  throw new Error('there are no results');
}

function linesOf(lines: readonly string[], from: number, count: number): string {
  return lines
    .slice(Math.min(from, Math.max(0, lines.length - count)))
    .slice(0, count)
    .join('\n');
}

function testRun(tests: number, upTo: (limit: number) => number): string {
  const lines = Array.from({ length: tests }, (_, i) =>
    upTo(40) === 0
      ? `not ok ${i} - ${WORDS[upTo(WORDS.length)]} ${WORDS[upTo(WORDS.length)]}\n  ---\n  expected: ${upTo(900)}\n  actual: ${upTo(900)}\n  at: test/unit-${upTo(50)}.test.ts:${upTo(300)}\n  ...`
      : `ok ${i} - ${WORDS[upTo(WORDS.length)]} ${WORDS[upTo(WORDS.length)]} ${WORDS[upTo(WORDS.length)]} (${upTo(90)} ms)`,
  );
  return `TAP version 13\n${lines.join('\n')}\n1..${tests}\n`;
}

function found(hits: number, upTo: (limit: number) => number): string {
  return Array.from(
    { length: hits },
    () =>
      `src/${WORDS[upTo(WORDS.length)]}/${WORDS[upTo(WORDS.length)]}-${upTo(30)}.ts:${upTo(400)}:  const ${WORDS[upTo(WORDS.length)]} = await load${upTo(90)}(${WORDS[upTo(WORDS.length)]}.id, { limit: ${upTo(100)} });`,
  ).join('\n');
}
