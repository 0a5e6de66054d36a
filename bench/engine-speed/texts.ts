/** xorshift32: numbers that a seed alone decides. */
function numbers(seed: number): (below: number) => number {
  let state = seed | 1;
  return (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % below;
  };
}

const WORDS =
  'account address amount batch buffer cache channel client config context cursor deadline event factory filter handler index item job key limit message node option order packet parser path payload queue record request response retry route schema scope server session signal state stream table task timeout token transaction user value worker'.split(
    ' ',
  );

/** Makes lines until a text has the size asked for; `line` gets the number of the line and a source of chance. */
function grow(bytes: number, line: (n: number, pick: (below: number) => number) => string): string {
  const pick = numbers(7);
  const parts: string[] = [];
  for (let size = 0, n = 0; size < bytes; n++) {
    const next = `${line(n, pick)}\n`;
    parts.push(next);
    size += next.length;
  }
  return parts.join('').slice(0, bytes);
}

const word = (pick: (below: number) => number): string => WORDS[pick(WORDS.length)] ?? '';
const sentence = (pick: (below: number) => number, count: number): string =>
  Array.from({ length: count }, () => word(pick)).join(' ');
const name = (pick: (below: number) => number): string => `${word(pick)}_${word(pick)}`;
const camel = (pick: (below: number) => number): string => {
  const second = word(pick);
  return `${word(pick)}${second.charAt(0).toUpperCase()}${second.slice(1)}`;
};
const clock = (n: number): string =>
  `2026-03-${String(1 + (n % 28)).padStart(2, '0')}T12:${String(n % 60).padStart(2, '0')}:07.${n % 1000}Z`;

export interface Sample {
  readonly name: string;
  readonly path?: string;
  readonly command?: string;
  readonly make: (bytes: number) => string;
}

/** What tool results look like, kind by kind. */
export const KINDS: readonly Sample[] = [
  {
    name: 'python',
    path: 'a.py',
    make: (bytes) =>
      grow(bytes, (n, pick) => {
        if (n % 12 === 0) return `def ${name(pick)}_${n}(self, ${word(pick)}, ${word(pick)}=None):`;
        return n % 12 === 11
          ? ''
          : `    ${'    '.repeat(pick(3))}self.${name(pick)} = ${name(pick)}(${word(pick)}, ${n})`;
      }),
  },
  {
    name: 'typescript',
    path: 'a.ts',
    make: (bytes) =>
      grow(bytes, (n, pick) => {
        if (n % 10 === 0) return `export function ${camel(pick)}${n}(${word(pick)}: ${camel(pick)}): Promise<void> {`;
        return n % 10 === 9
          ? '}'
          : `  const ${camel(pick)} = await this.${camel(pick)}(${word(pick)}, { ${word(pick)}: ${n} });`;
      }),
  },
  {
    name: 'c',
    path: 'a.c',
    make: (bytes) =>
      grow(bytes, (n, pick) => {
        if (n % 10 === 0) return `static int ${name(pick)}_${n}(struct ${word(pick)} *${word(pick)}) {`;
        return n % 10 === 9 ? '}' : `\tif (${word(pick)}->${word(pick)} != ${n}) return ${name(pick)}(${word(pick)});`;
      }),
  },
  {
    name: 'compiler',
    command: 'gcc -c a.c',
    make: (bytes) =>
      grow(bytes, (n, pick) =>
        n % 3 === 0
          ? `src/${word(pick)}.c:${n}:${pick(80)}: warning: unused variable '${name(pick)}' [-Wunused-variable]`
          : n % 3 === 1
            ? ` ${n} |   int ${name(pick)} = ${pick(100)};`
            : '     |       ^~~~~~',
      ),
  },
  {
    name: 'test run',
    command: 'npm test',
    make: (bytes) =>
      grow(bytes, (n, pick) =>
        n % 90 === 77 ? `not ok ${n} - ${sentence(pick, 5)}` : `ok ${n} - ${sentence(pick, 6)}`,
      ),
  },
  {
    name: 'service log',
    command: 'cat app.log',
    make: (bytes) =>
      grow(
        bytes,
        (n, pick) =>
          `${clock(n)} ${n % 97 === 5 ? 'ERROR' : 'INFO '} ${word(pick)}.${word(pick)}: ${sentence(pick, 3)} ${n} in ${pick(900)} ms`,
      ),
  },
  {
    name: 'json lines',
    command: 'cat app.log',
    make: (bytes) =>
      grow(bytes, (n, pick) =>
        JSON.stringify({ level: 30, time: 1760000000000 + n, id: n, msg: sentence(pick, 3), ms: pick(500) }),
      ),
  },
  {
    name: 'stack trace',
    command: 'java -jar a.jar',
    make: (bytes) =>
      grow(bytes, (n, pick) =>
        n % 30 === 0
          ? `Caused by: java.lang.IllegalStateException: ${sentence(pick, 4)}`
          : `\tat com.example.${word(pick)}.${camel(pick)}(${camel(pick)}.java:${n})`,
      ),
  },
  {
    name: 'grep',
    command: 'grep -rn value .',
    make: (bytes) =>
      grow(
        bytes,
        (n, pick) => `src/${word(pick)}/${word(pick)}.ts:${n}:  const ${camel(pick)} = ${camel(pick)}(value);`,
      ),
  },
  {
    name: 'diff',
    command: 'git diff',
    make: (bytes) =>
      grow(bytes, (n, pick) => {
        if (n % 60 === 0) return `diff --git a/src/${word(pick)}${n}.ts b/src/${word(pick)}${n}.ts`;
        if (n % 60 === 1) return `--- a/src/x${n}.ts\n+++ b/src/x${n}.ts`;
        if (n % 20 === 2) return `@@ -${n},18 +${n},18 @@ function ${camel(pick)}() {`;
        return `${[' ', ' ', '-', '+'][pick(4)]}  const ${camel(pick)} = ${camel(pick)}(${n});`;
      }),
  },
  {
    name: 'listing',
    command: 'find . -type f',
    make: (bytes) => grow(bytes, (n, pick) => `./${word(pick)}/${word(pick)}/${name(pick)}_${n}.ts`),
  },
  {
    name: 'json',
    path: 'a.json',
    make: (bytes) => {
      const pick = numbers(7);
      const rows = Array.from({ length: Math.ceil(bytes / 110) }, (_, n) => ({
        id: n,
        name: name(pick),
        tags: [word(pick), word(pick)],
        on: n % 2 === 0,
      }));
      return JSON.stringify(rows, null, 2).slice(0, bytes);
    },
  },
  {
    name: 'csv',
    path: 'a.csv',
    make: (bytes) =>
      grow(bytes, (n, pick) => (n === 0 ? 'id,name,amount,state' : `${n},${name(pick)},${pick(9999)},${word(pick)}`)),
  },
  {
    name: 'markdown',
    path: 'a.md',
    make: (bytes) =>
      grow(bytes, (n, pick) =>
        n % 14 === 0 ? `## ${sentence(pick, 3)}` : n % 7 === 6 ? '' : `${sentence(pick, 11)}.`,
      ),
  },
  {
    name: 'numbered',
    path: 'a.ts',
    make: (bytes) =>
      grow(bytes, (n, pick) => `${String(n + 1).padStart(6)}\t  const ${camel(pick)} = ${camel(pick)}(${n});`),
  },
];

/** Inputs that are made to hurt. */
export const ADVERSARIAL: readonly Sample[] = [
  { name: 'one long line', make: (bytes) => 'x'.repeat(bytes) },
  { name: 'long lines of words', make: (bytes) => grow(bytes, (_, pick) => sentence(pick, 3000)) },
  { name: 'long lines without a space', make: (bytes) => grow(bytes, () => 'aB3_'.repeat(5000)) },
  {
    name: 'base64',
    make: (bytes) =>
      grow(bytes, (_, pick) => Array.from({ length: 76 }, () => 'ABCDabcd0189+/'.charAt(pick(14))).join('')),
  },
  { name: 'all lines equal', make: (bytes) => grow(bytes, () => '    return value;') },
  { name: 'empty lines', make: (bytes) => '\n'.repeat(bytes) },
  { name: 'lines of one character', make: (bytes) => grow(bytes, (n) => '{}()'.charAt(n % 4)) },
  { name: 'carriage returns only', make: (bytes) => 'abc\r'.repeat(bytes / 4) },
  { name: 'all tokens unique', make: (bytes) => grow(bytes, (n) => `${(n * 2654435761).toString(36)} q${n}z ${n}x`) },
  { name: 'deep indentation', make: (bytes) => grow(bytes, (n) => `${' '.repeat(n % 2000)}x${n}`) },
  {
    name: 'ever deeper',
    path: 'a.py',
    make: (bytes) => grow(bytes, (n) => `${' '.repeat(Math.min(n, 3000))}if x${n}:`),
  },
  { name: 'open brackets', path: 'a.ts', make: (bytes) => grow(bytes, () => '{{{{((((['.repeat(4)) },
  { name: 'opening lines only', path: 'a.ts', make: (bytes) => grow(bytes, (n) => `function f${n}() {`) },
  {
    name: 'json ever deeper',
    path: 'a.json',
    make: (bytes) => grow(bytes, (n) => `${' '.repeat(Math.min(n, 500))}{"a": [`),
  },
  { name: 'headings only', path: 'a.md', make: (bytes) => grow(bytes, (n) => `# h${n}`) },
  { name: 'fences only', path: 'a.md', make: (bytes) => grow(bytes, () => '```') },
  { name: 'hunk headers only', command: 'git diff', make: (bytes) => grow(bytes, (n) => `@@ -${n},1 +${n},1 @@`) },
  { name: 'tracebacks only', make: (bytes) => grow(bytes, () => 'Traceback (most recent call last):') },
  { name: 'errors only', command: 'make', make: (bytes) => grow(bytes, (n) => `a.c:${n}:1: error: e${n}`) },
  {
    name: 'markers only',
    make: (bytes) => grow(bytes, (n) => `⟦PRUNÉ: prune_id=prn_0 lignes ${n}-${n} (1) raison=x⟧`),
  },
  { name: 'directives only', make: (bytes) => grow(bytes, (n) => (n % 2 ? '⟦NO_PRUNE_END⟧' : '⟦NO_PRUNE_BEGIN⟧')) },
  {
    name: 'digits and dots',
    make: (bytes) => grow(bytes, () => '1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1!'),
  },
  { name: 'slashes', make: (bytes) => grow(bytes, () => '/a/'.repeat(200)) },
  { name: 'spaces at line ends', make: (bytes) => grow(bytes, () => `x${' '.repeat(300)}y`) },
  { name: 'capitals', make: (bytes) => grow(bytes, () => 'ABCDEFGH'.repeat(40)) },
  { name: 'emoji and CJK', make: (bytes) => grow(bytes, (n) => `日本語のログ🙂 ${n}`) },
  { name: 'lone surrogates', make: (bytes) => grow(bytes, () => '\ud800\udc00\ud800'.repeat(20)) },
];
