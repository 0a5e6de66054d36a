import type { ToolResultCase } from '../case.ts';
import { Unavailable } from '../workshop.ts';
import { RECORDS } from './json.ts';

/** An asyncio program whose task group fails in two ways at once, behind many good tasks. */
const TASK_GROUP = `import asyncio
async def fetch(n):
    await asyncio.sleep(0)
    if n == 31: raise TimeoutError('mirror-7 did not answer within 20 s')
    if n == 44: raise ValueError('checksum of part 44 differs')
    print('part %d fetched, %d bytes' % (n, 65536))
async def main():
    async with asyncio.TaskGroup() as group:
        for n in range(60): group.create_task(fetch(n))
asyncio.run(main())
`;

const DOCTEST = `def slug(text):
    """Makes a slug.

${Array.from({ length: 90 }, (_, i) => `    >>> slug('Title ${i}')\n    'title-${i}'`).join('\n')}
    >>> slug('Crème brûlée')
    'creme-brulee'
    """
    return text.lower().replace(' ', '-')
`;

const DEEP_EQUAL = `import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
const make = (n, over = {}) => ({ id: n, name: 'item ' + n, tags: ['a', 'b', 'c'], price: { net: n * 100, vat: 19 }, ...over });
describe('catalogue', () => {
  for (let i = 0; i < 60; i++) it('reads item ' + i, () => assert.deepEqual(make(i), make(i)));
  it('reads the reduced rate', () => assert.deepEqual(make(7, { price: { net: 700, vat: 7 } }), make(7)));
});
`;

/** Written after the engine had been tuned on the other cases, to see how it does on tools it had not met. */
export const secondSet: readonly ToolResultCase[] = [
  {
    name: 'b-js-undici-client-h1',
    kind: 'source code',
    goal: 'A keep-alive socket of undici is closed after 4 seconds. Where does client-h1.js arm the keep-alive timeout of the parser?',
    hints: { origin: 'read', path: 'node_modules/undici/lib/dispatcher/client-h1.js' },
    fragments: ['socket[kParser].setTimeout(client[kKeepAliveTimeoutValue], TIMEOUT_KEEP_ALIVE)'],
    make: (shop) => shop.packageFile('undici/lib/dispatcher/client-h1.js'),
  },
  {
    name: 'b-python-zipfile',
    kind: 'source code',
    goal: 'zipfile raises "Filesize would require ZIP64 extensions" when I stream into a member. Under which condition?',
    hints: { origin: 'read', path: 'Lib/zipfile.py' },
    fragments: [
      'zip64 = force_zip64 or (zinfo.file_size * 1.05 > ZIP64_LIMIT)',
      'raise LargeZipFile("Filesize would require ZIP64 extensions")',
    ],
    make: (shop) => {
      shop.need('python3');
      return shop.sh('cat "$(python3 -c "import zipfile; print(zipfile.__file__)")"');
    },
  },
  {
    name: 'b-ts-eventsource-parser',
    kind: 'source code',
    goal: 'What does eventsource-parser do with a retry field whose value is no number?',
    hints: { origin: 'read', path: 'src/parse.ts' },
    fragments: ["case 'retry':", "type: 'invalid-retry',"],
    make: (shop) => shop.packageFile('eventsource-parser/src/parse.ts'),
  },
  {
    name: 'b-c-header-zlib',
    kind: 'source code',
    goal: 'What does the memLevel argument of deflateInit2 trade, and which value is the maximum?',
    hints: { origin: 'read', path: '/usr/include/zlib.h' },
    fragments: [
      'The memLevel parameter specifies how much memory should be allocated',
      'memLevel=9 uses maximum memory',
    ],
    make: (shop) => {
      const text = shop.sh('cat /usr/include/zlib.h');
      if (!text.includes('deflateInit2')) throw new Unavailable('no zlib.h');
      return text;
    },
  },
  {
    name: 'b-tsc-missing-module',
    kind: 'compiler output',
    goal: 'tsc reports lots of implicit any. Is there also a module that cannot be found?',
    hints: { origin: 'command', command: 'npx tsc -p tsconfig.json' },
    fragments: ["error TS2307: Cannot find module './currency.js'"],
    make: (shop) => {
      const config = {
        compilerOptions: { strict: true, noEmit: true, target: 'es2022', module: 'nodenext', types: [] },
      };
      const files: Record<string, string> = { 'tsconfig.json': JSON.stringify(config) };
      for (let i = 0; i < 45; i++)
        files[`part${i}.ts`] = `export function combine${i}(left, right) {\n  return left + right;\n}\n`;
      files['price.ts'] =
        "import { round } from './currency.js';\nexport const price = (net: number) => round(net * 1.19);\n";
      return shop.sh('"$MODULES/.bin/tsc" -p . --pretty false', shop.folder(files));
    },
  },
  {
    name: 'b-javac-missing-package',
    kind: 'compiler output',
    goal: 'Why can the class Importer not be compiled?',
    hints: { origin: 'command', command: 'javac -Xlint:all $(find . -name "*.java")' },
    fragments: ['error: package org.apache.poi.ss.usermodel does not exist', 'Importer.java:1:'],
    make: (shop) => {
      shop.need('javac');
      const files: Record<string, string> = {
        'Importer.java':
          'import org.apache.poi.ss.usermodel.Workbook;\npublic class Importer { Workbook open(String path) { return null; } }\n',
      };
      for (let i = 0; i < 25; i++) {
        files[`Old${i}.java`] =
          `import java.util.*;\npublic class Old${i} { Vector v = new Vector(); Date d = new Date(2020, 1, ${i + 1}); void add(Object o) { v.add(o); } }\n`;
      }
      return shop.sh('javac -Xlint:all -d out *.java', shop.folder(files));
    },
  },
  {
    name: 'b-python-doctest',
    kind: 'test run',
    goal: 'python -m doctest -v: which example fails, what was expected and what came out?',
    hints: { origin: 'command', command: 'python3 -m doctest -v slug.py' },
    fragments: ["slug('Crème brûlée')", "    'creme-brulee'", "    'crème-brûlée'", '1 failed'],
    make: (shop) => {
      shop.need('python3');
      return shop.sh('python3 -m doctest -v slug.py', shop.folder({ 'slug.py': DOCTEST }));
    },
  },
  {
    name: 'b-node-deep-equal',
    kind: 'test run',
    goal: 'The catalogue suite is red. Which field differs?',
    hints: { origin: 'command', command: 'node --test' },
    fragments: ['✖ reads the reduced rate', 'vat: 7', 'vat: 19'],
    make: (shop) => shop.sh('node --test --test-reporter=spec', shop.folder({ 'catalogue.test.mjs': DEEP_EQUAL })),
  },
  {
    name: 'b-pino-pretty',
    kind: 'service log',
    goal: 'One job of the mailer was given up. Which one, and why?',
    hints: { origin: 'command', command: 'docker logs mailer' },
    fragments: ['job given up after 5 attempts', '550 mailbox unavailable'],
    make: (shop) => {
      const program = `import pino from 'pino';
const log = pino({ name: 'mailer', base: { name: 'mailer' } }, pino.destination({ sync: true }));
for (let i = 0; i < 240; i++) {
  log.info({ job: i, to: 'user' + i + '@example.org' }, 'job taken');
  if (i === 133) log.error({ job: i, attempts: 5, reply: '550 mailbox unavailable' }, 'job given up after 5 attempts');
  else log.info({ job: i, ms: 40 + (i % 11) }, 'mail sent');
}
`;
      const folder = shop.folder({ 'mailer.mjs': program });
      shop.sh('ln -s "$MODULES" node_modules', folder);
      return shop.sh('node mailer.mjs | "$MODULES/.bin/pino-pretty" --colorize=false', folder);
    },
  },
  {
    name: 'b-git-trace',
    kind: 'service log',
    goal: 'git gc is slow here. Does it pack refs, and which sub-command does the repacking, with which options?',
    hints: { origin: 'command', command: 'GIT_TRACE=1 GIT_TRACE_SETUP=1 git gc' },
    fragments: ['pack-refs --all --prune', 'git repack -d'],
    make: (shop) => {
      shop.need('git');
      const folder = shop.folder();
      const setUp =
        'git init -q; for i in $(seq 40); do echo $i > f$i; git add f$i; git -c user.name=a -c user.email=a@b commit -qm "c $i"; git tag t$i; done';
      shop.sh(setUp, folder);
      return shop.sh(
        'GIT_TRACE=1 GIT_TRACE_SETUP=1 git gc; for i in $(seq 12); do GIT_TRACE=1 GIT_TRACE_SETUP=1 git tag -l "t$i*"; done',
        folder,
      );
    },
  },
  {
    name: 'b-pip-conflict',
    kind: 'package or CI log',
    goal: 'The image build fails while installing Python requirements. Which requirement cannot be had?',
    hints: { origin: 'command', command: 'docker build .' },
    fragments: ['ERROR: No matching distribution found for internal-billing-sdk==4.2'],
    make: (shop) => {
      shop.need('python3');
      const steps =
        'for i in $(seq 1 90); do echo "#7 $i.0$((i % 10)) Get:$i deb bookworm/main amd64 libpkg$i amd64 1.$i-2 [$((i * 13)) kB]"; done';
      const pip = 'python3 -m pip --disable-pip-version-check install --no-index internal-billing-sdk==4.2';
      return shop.sh(
        `${steps}; for i in $(seq 1 40); do echo "#7 91.$i Setting up libpkg$i (1.$i-2) ..."; done; ${pip} | sed 's/^/#8 1.42 /'; ${pip}; echo "ERROR: failed to solve: process did not complete successfully: exit code: 1"`,
      );
    },
  },
  {
    name: 'b-exception-group',
    kind: 'stack trace',
    goal: 'The download fails with an exception group. What are the errors in it?',
    hints: { origin: 'command', command: 'python3 download.py' },
    fragments: ['TimeoutError: mirror-7 did not answer within 20 s', 'ValueError: checksum of part 44 differs'],
    make: (shop) => {
      shop.need('python3');
      const text = shop.sh('python3 -X dev download.py', shop.folder({ 'download.py': TASK_GROUP }));
      if (!text.includes('ExceptionGroup')) throw new Unavailable('no exception groups in this Python');
      return text.repeat(2);
    },
  },
  {
    name: 'b-java-stack-overflow',
    kind: 'stack trace',
    goal: 'The parser dies with a StackOverflowError. Which methods call each other without end?',
    hints: { origin: 'command', command: 'java Parser' },
    fragments: ['java.lang.StackOverflowError', 'at Parser.term(', 'at Parser.factor('],
    make: (shop) => {
      shop.need('javac');
      const program =
        'public class Parser { int expr(int d) { return term(d); } int term(int d) { return factor(d + 1); } int factor(int d) { return expr(d) + 1; } public static void main(String[] a) { System.out.println(new Parser().expr(0)); } }\n';
      return shop.sh(
        'javac Parser.java && java -XX:MaxJavaStackTraceDepth=400 Parser',
        shop.folder({ 'Parser.java': program }),
      );
    },
  },
  {
    name: 'b-grep-set-timeout',
    kind: 'grep',
    goal: 'Where does undici wait before it tries a request again (RetryHandler)?',
    hints: { origin: 'search', command: "grep -rn 'setTimeout(' node_modules/{pino,thread-stream,undici,vite}" },
    fragments: ['undici/lib/handler/retry-handler.js:'],
    make: (shop) =>
      shop.sh(
        "grep -rn 'setTimeout(' pino thread-stream undici express @modelcontextprotocol --include=*.js --include=*.mjs | cut -c1-220",
        shop.modules,
      ),
  },
  {
    name: 'b-grep-registry-of-errors',
    kind: 'grep',
    goal: 'Which code does undici give to its error for a response that exceeded its maximum size?',
    hints: { origin: 'search', command: 'grep -rn UND_ERR_ node_modules/undici' },
    fragments: ["this.code = 'UND_ERR_RES_EXCEEDED_MAX_SIZE'"],
    make: (shop) => shop.sh('grep -rn UND_ERR_ undici --include=*.js --include=*.d.ts --include=*.md', shop.modules),
  },
  {
    name: 'b-diff-lock-file',
    kind: 'diff',
    goal: 'Besides new integrity hashes: which package changed its version in this diff of the lock file?',
    hints: { origin: 'command', command: 'git diff package-lock.json' },
    fragments: ['-      "version": "7.30.2"', '+      "version": "7.99.0"'],
    make: (shop) => {
      const folder = shop.folder({ 'a.json': shop.sh('cat "$MODULES/../package-lock.json"') });
      const edit = String.raw`sed -E 's/(sha512-...)(.)/\1x/; /node_modules\/undici": \{/,/\}/s/7\.30\.[0-9]+/7.99.0/' a.json > b.json; sed -i -E '/node_modules\/undici": \{/,/\}/s/7\.30\.[0-9]+/7.30.2/' a.json`;
      return shop.sh(`${edit}; git diff --no-index a.json b.json`, folder);
    },
  },
  {
    name: 'b-ls-modules',
    kind: 'listing',
    goal: 'Is the package tar-fs installed?',
    hints: { origin: 'listing', command: 'ls -la node_modules' },
    fragments: [' tar-fs'],
    make: (shop) => shop.sh('ls -la .', shop.modules),
  },
  {
    name: 'b-find-dts',
    kind: 'listing',
    goal: 'Where are the type declarations of the MCP SDK for the streamable HTTP client transport?',
    hints: { origin: 'listing', command: "find node_modules/@modelcontextprotocol -name '*.d.ts'" },
    fragments: ['dist/esm/client/streamableHttp.d.ts'],
    make: (shop) => shop.sh("find @modelcontextprotocol -name '*.d.ts' | sort", shop.modules),
  },
  {
    name: 'b-package-json-exports',
    kind: 'json',
    goal: 'Which file does require("zod/locales") load?',
    hints: { origin: 'read', path: 'node_modules/zod/package.json' },
    fragments: ['"./locales": {', '"require": "./locales/index.cjs"'],
    make: (shop) => shop.packageFile('zod/package.json'),
  },
  {
    name: 'b-vitest-json',
    kind: 'json',
    goal: 'In the JSON report of the test run: which assertion failed, and with what message?',
    hints: { origin: 'command', command: 'npx vitest run --reporter=json' },
    fragments: ['"status": "failed"', 'expected 18 to equal 17.99'],
    make: (shop) => {
      const tests = Array.from({ length: 60 }, (_, i) => `it('case ${i}', () => assert.equal(${i} * 2, ${i * 2}));`);
      const file = `import { assert, it } from 'vitest';\n${tests.join('\n')}\nit('ten percent off', () => assert.equal(18, 17.99));\n`;
      const folder = shop.folder({ 'a.test.mjs': file });
      shop.sh('ln -s "$MODULES" node_modules', folder);
      return shop.sh(
        "\"$MODULES/.bin/vitest\" run --reporter=json --root . | node -e \"process.stdin.on('data', (d) => (s += d)).on('end', () => console.log(JSON.stringify(JSON.parse(s), null, 2))); let s = ''\"",
        folder,
      );
    },
  },
  {
    name: 'b-table-aligned',
    kind: 'table',
    goal: 'How many dependencies has vitest itself according to the table?',
    hints: { origin: 'command', command: 'node list.mjs | column -t' },
    fragments: ['vitest ', 'name '],
    make: (shop) => {
      shop.need('column');
      const print =
        'console.log(["name version license dependencies bytes", ...records.map((r) => [r.name, r.version, String(r.license || "-").replaceAll(" ", ""), r.dependencies, r.bytes].join(" "))].join("\\n"))';
      return shop.sh(`node -e '${RECORDS}; ${print}' | column -t`, shop.modules);
    },
  },
  {
    name: 'b-gcc-help-warnings',
    kind: 'docs',
    goal: 'Which gcc option warns when one local variable shadows another global one?',
    hints: { origin: 'command', command: 'gcc --help=warnings' },
    fragments: ['-Wshadow=global', '-Wshadow  '],
    make: (shop) => {
      shop.need('gcc');
      return shop.sh('gcc --help=warnings');
    },
  },
  {
    name: 'b-tar-help',
    kind: 'docs',
    goal: 'I want tar to drop the first directory of every name while extracting.',
    hints: { origin: 'command', command: 'tar --help' },
    fragments: ['--strip-components=NUMBER'],
    make: (shop) => shop.sh('tar --help'),
  },
  {
    name: 'b-cat-n-python',
    kind: 'numbered file',
    goal: 'How does queue.PriorityQueue keep its order, and what does put do when the queue is full?',
    hints: { origin: 'read', command: 'cat -n Lib/queue.py', path: 'Lib/queue.py' },
    fragments: ['class PriorityQueue(Queue):', 'heappush(self.queue, item)', 'raise Full'],
    make: (shop) => {
      shop.need('python3');
      return shop.sh('cat -n "$(python3 -c "import queue; print(queue.__file__)")"');
    },
  },
];
