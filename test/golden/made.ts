import type { Hints, SourceType } from '../../src/engine/types.ts';
import { githubActionsLog, klogLog, logfmtLog } from '../engine/kinds/log/samples.ts';

interface Made extends Partial<Hints> {
  readonly name: string;
  readonly text: string;
  readonly goal: string;
  readonly sourceType: SourceType;
}

/** `count` lines, by their number. */
function lines(count: number, line: (k: number) => string): string {
  return Array.from({ length: count }, (_, k) => line(k)).join('\n');
}

/** The line of a number among some that come back in turn. */
function turn(k: number, ...of: readonly string[]): string {
  return of[k % of.length] ?? '';
}

const NAMES = ['order', 'invoice', 'basket', 'payment', 'refund', 'voucher', 'shipment'] as const;
const name = (k: number): string => NAMES[(k * 5 + (k >> 3)) % NAMES.length] ?? '';
const clock = (k: number): string =>
  `${String(8 + (k >> 7)).padStart(2, '0')}:${String((k >> 1) % 60).padStart(2, '0')}:${String((k * 7) % 60).padStart(2, '0')}`;
const command = (text: string): Hints => ({ origin: 'command', command: text });

const python = `#!/usr/bin/env python3\n"""Orders and what becomes of them."""\nimport os\nfrom decimal import (\n    Decimal,\n)\n\nMAX_RETRIES = 5\n\n${lines(
  24,
  (k) =>
    `class ${name(k)}${k}:\n    """Part ${k}."""\n\n    @staticmethod\n    def load_${name(k)}_${k}(self, amount=None):\n${lines(
      6 + (k % 5),
      (j) => `        value_${j} = self.${name(j + k)}(amount, ${j * k})`,
    )}\n        return value_0\n`,
)}`;
const go = `package orders\n\nimport (\n\t"fmt"\n\t"os"\n)\n\n${lines(
  30,
  (k) =>
    `// ${name(k)}${k} says what an order costs.\nfunc (s *Server) ${name(k)}${k}(id string) error {\n${lines(7, (j) => `\tif s.${name(j)} != ${j} { return fmt.Errorf("no ${name(j + k)}: %w", err) }`)}\n\treturn nil\n}\n`,
)}`;
const rust = `use std::fs;\n\n${lines(
  26,
  (k) =>
    `#[derive(Debug)]\npub struct ${name(k)}${k} {\n    pub id: u64,\n}\n\nimpl ${name(k)}${k} {\n    pub fn total(&self) -> u64 {\n${lines(5, (j) => `        let v${j} = self.id + ${j};`)}\n        v0\n    }\n}\n`,
)}`;
const java = `package shop.orders;\n\nimport java.util.List;\n\npublic class Orders {\n${lines(
  28,
  (k) =>
    `  @Override\n  public List<String> ${name(k)}${k}(String id) throws IOException {\n${lines(6, (j) => `    int v${j} = ${name(j)}.get(id) + ${j};`)}\n    return null;\n  }\n`,
)}\n}`;
const ruby = `require 'json'\n\nmodule Shop\n${lines(28, (k) => `  def ${name(k)}_${k}(id)\n${lines(5, (j) => `    v${j} = ${name(j)}(id, ${j})`)}\n  end\n`)}\nend`;
const c = `#include <stdio.h>\n#define MAX_${'ORDERS'} 12\n\n${lines(28, (k) => `static int\n${name(k)}_${k}(struct order *o)\n{\n${lines(7, (j) => `\to->${name(j)} += ${j};`)}\n\treturn 0;\n}\n`)}`;
const shell = `#!/bin/sh\nset -e\n${lines(40, (k) => `${name(k)}_${k}() {\n  if [ -f "$1" ]; then\n    cp "$1" /tmp/${name(k)}\n  fi\n}\n`)}`;
const sql = lines(
  60,
  (k) =>
    `CREATE TABLE ${name(k)}_${k} (\n  id INTEGER PRIMARY KEY,\n  ${name(k + 1)} TEXT NOT NULL\n);\nSELECT * FROM ${name(k)}_${k} WHERE id = ${k};\n`,
);
const yaml = lines(
  80,
  (k) => `- name: ${name(k)}-${k}\n  image: registry/${name(k)}:${k}\n  ports:\n    - ${8000 + k}`,
);
const toml = lines(60, (k) => `[${name(k)}.${k}]\nlimit = ${k}\npath = "/srv/${name(k)}"\n`);
const css = lines(70, (k) => `.${name(k)}-${k} {\n  color: #${k}${k};\n  margin: ${k}px;\n}\n`);
const html = `<html>\n<body>\n${lines(150, (k) => `  <div class="${name(k)}">\n    <a href="/${name(k)}/${k}">${name(k)} ${k}</a>\n  </div>`)}\n</body>\n</html>`;

const pytest = `============================= test session starts ==============================\ncollected 240 items\n\n${lines(
  200,
  (k) => `tests/test_${name(k)}.py::test_case_${k} PASSED                  [${String(k >> 1).padStart(3)}%]`,
)}\ntests/test_refund.py::test_total FAILED\n\n=================================== FAILURES ===================================\n    def test_total():\n>       assert total(3) == 7\nE       assert 6 == 7\nE        +  where 6 = total(3)\n\ntests/test_refund.py:12: AssertionError\n=========================== short test summary info ============================\nFAILED tests/test_refund.py::test_total - assert 6 == 7\n======================== 1 failed, 200 passed in 3.21s ========================`;
const jest = `${lines(60, (k) => `PASS src/${name(k)}${k}.test.ts\n  ${name(k)}\n    ✓ loads (${k} ms)\n    ✓ saves (${k + 2} ms)`)}\nFAIL src/refund.test.ts\n  ● refund › returns the money\n\n    expect(received).toBe(expected)\n\n    Expected: 7\n    Received: 6\n\n      10 |   const sum = total(3);\n    > 11 |   expect(sum).toBe(7);\n         |               ^\n\n      at Object.<anonymous> (src/refund.test.ts:11:15)\n\nTest Suites: 1 failed, 60 passed, 61 total\nTests:       1 failed, 120 passed, 121 total\nTime:        4.2 s`;
const goTest = `${lines(90, (k) => `=== RUN   Test${name(k)}${k}\n--- PASS: Test${name(k)}${k} (0.0${k % 10}s)`)}\n=== RUN   TestRefund\n    refund_test.go:14: got 6, want 7\n--- FAIL: TestRefund (0.00s)\npanic: runtime error: index out of range [3]\n\ngoroutine 7 [running]:\nshop.total(...)\n\t/src/total.go:12\nFAIL\tshop/orders\t0.012s`;
const cargo = `running 140 tests\n${lines(140, (k) => `test ${name(k)}::case_${k} ... ${k === 77 ? 'FAILED' : 'ok'}`)}\n\nfailures:\n\n---- payment::case_77 stdout ----\nthread 'payment::case_77' panicked at 'assertion failed: left == right', src/lib.rs:12\n  left: 6\n right: 7\n\ntest result: FAILED. 139 passed; 1 failed; 0 ignored`;
const tap = `TAP version 13\n${lines(160, (k) => (k === 120 ? 'not ok 121 - refunds\n  ---\n  expected: 7\n  actual: 6\n  ...' : `ok ${k + 1} - ${name(k)} number ${k}`))}\n# tests 160\n# pass 159\n# fail 1`;
const maven = `${lines(110, (k) => `[INFO] Tests run: ${k % 9}, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.${k} s - in shop.${name(k)}${k}Test`)}\n[ERROR] Tests run: 4, Failures: 1, Errors: 0, Skipped: 0\n[ERROR] shop.RefundTest.total:12 expected:<7> but was:<6>\n[INFO] BUILD FAILURE\n[INFO] Total time:  12.3 s`;

const tsc = lines(
  90,
  (k) =>
    `src/${name(k)}/${name(k + 1)}.ts(${k + 3},${k % 40}): error TS${2300 + (k % 9)}: Property '${name(k)}${k}' does not exist on type '${name(k + 2)}'.`,
);
const rustc = lines(
  40,
  (k) =>
    `error[E0${382 + (k % 3)}]: borrow of moved value: \`${name(k)}\`\n  --> src/${name(k)}.rs:${k}:9\n   |\n${k} |     let x = ${name(k)};\n   |         ^ value borrowed here after move\n`,
);
const make = `${lines(120, (k) => `cc -O2 -Wall -c -o obj/${name(k)}${k}.o src/${name(k)}${k}.c`)}\nsrc/refund.c: In function 'total':\nsrc/refund.c:12:7: error: 'x' undeclared (first use in this function)\nmake[1]: *** [Makefile:12: obj/refund.o] Error 1\nmake: *** [all] Error 2`;
const npm = `${lines(150, (k) => `npm http fetch GET 200 https://example.org/${name(k)}-${k} ${k}ms (cache miss)`)}\nnpm warn deprecated ${name(3)}@1.0.0: use another\nnpm ERR! code ERESOLVE\nnpm ERR! Could not resolve dependency\nadded 12 packages in 3s`;
const docker = `${lines(20, (s) => `#${s + 4} [${s + 1}/20] RUN make ${name(s)}\n${lines(9, (k) => `#${s + 4} 0.${k}12 Unpacking lib${name(k)}-dev:amd64 (1.${k}-2) ...`)}\n#${s + 4} DONE 1.${s}s`)}\n#24 ERROR: process "/bin/sh -c make refund" did not complete successfully: exit code: 2`;
const githubStyle = lines(
  12,
  (s) =>
    `::group::Run step ${s}\n${lines(14, (k) => `Downloading ${name(k)}-${s}.${k}.tar.gz (${k} kB)`)}\n::endgroup::${s === 7 ? '\nError: Process completed with exit code 1.' : ''}`,
);
const syslog = lines(
  300,
  (k) =>
    `Mar ${String(1 + (k % 28)).padStart(2)} ${clock(k)} host-${k % 3} ${turn(k, 'sshd', 'cron', 'kernel')}[${1000 + k}]: ${k === 211 ? 'segfault at 0 ip 00007f error 4 in libc' : `session opened for user ${name(k)}`}`,
);
const access = lines(
  300,
  (k) =>
    `10.0.${k % 9}.${k % 250} - - [02/Mar/2026:${clock(k)} +0000] "GET /${name(k)}/${k} HTTP/1.1" ${k === 170 ? 502 : 200} ${k * 13}`,
);
const slog = lines(280, (k) =>
  JSON.stringify({
    time: `2026-03-01T${clock(k)}Z`,
    level: k === 91 ? 'error' : 'info',
    msg: `${name(k)} handled`,
    id: k,
  }),
);
const warnings = lines(
  260,
  (k) =>
    `2026-03-01 ${clock(k)},${k} ${k % 29 === 3 ? 'WARNING retry of' : 'INFO done with'} ${name(k)} ${k} in ${(k * 31) % 900} ms`,
);
const pyTrace = `${lines(90, (k) => `loading ${name(k)} ${k}`)}\n${lines(4, (t) => `Traceback (most recent call last):\n${lines(12, (k) => `  File "/srv/${name(k)}.py", line ${k}, in ${name(k + 1)}\n    return ${name(k + 2)}(${k})`)}\nshop.errors.RefundError: no refund ${t}\n`)}\n${lines(60, (k) => `storing ${name(k)} ${k}`)}`;
const javaTrace = lines(
  9,
  (t) =>
    `2026-03-01 ${clock(t)} ERROR shop - failed\njava.lang.IllegalStateException: no rate ${t}\n${lines(14, (k) => `\tat shop.${name(k)}.step${k}(${name(k)}.java:${k})`)}\nCaused by: java.lang.NullPointerException\n\tat shop.Rate.of(Rate.java:7)\n\t... 12 more\n${lines(12, (k) => `2026-03-01 ${clock(k)} INFO request ${k} served`)}`,
);
const nodeTrace = `${lines(150, (k) => `GET /${name(k)}/${k} 200 ${k % 90}ms`)}\nTypeError: Cannot read properties of undefined (reading 'total')\n    at total (/srv/refund.js:12:7)\n    at async handle (/srv/app.js:44:3)\n${lines(80, (k) => `GET /${name(k)}/${k} 200 ${k % 70}ms`)}`;

const gitLog = lines(
  60,
  (k) =>
    `commit ${(k * 7919).toString(16).padStart(40, 'a')}\nAuthor: Ada <ada@example.org>\nDate:   Mon Mar 2 ${clock(k)} 2026 +0100\n\n    ${name(k)}: wait longer before try ${k}\n`,
);
const diff = lines(
  24,
  (f) =>
    `diff --git a/src/${name(f)}${f}.js b/src/${name(f)}${f}.js\nindex 1234567..89abcde 100644\n--- a/src/${name(f)}${f}.js\n+++ b/src/${name(f)}${f}.js\n@@ -1,9 +1,9 @@ function ${name(f)}() {\n context ${f}\n-${f === 9 ? 'const timeoutMs = 500' : `old ${name(f)} ${f}`}\n+${f === 9 ? 'const timeoutMs = 50' : `new ${name(f)} ${f}`}\n${lines(7, (j) => ` unchanged ${name(j)} ${j}`)}`,
);
const lsLong = `total 480\n${lines(160, (k) => `-rw-r--r-- 1 ada staff ${String(k * 97).padStart(8)} Mar ${String(1 + (k % 28)).padStart(2)} 10:${String(k % 60).padStart(2, '0')} ${name(k)}-${k}.ts`)}`;
const lsRecursive = lines(30, (d) => `./src/${name(d)}${d}:\n${lines(9, (k) => `${name(k)}-${k}.ts`)}\n`);
const tree = `.\n${lines(40, (d) => `├── ${name(d)}${d}\n${lines(5, (k) => `│   ├── ${name(k)}-${k}.ts`)}\n│   └── index.ts`)}\n\n40 directories, 240 files`;
const find = lines(260, (k) => `./packages/${name(k >> 4)}/src/${name(k)}/${name(k + 3)}-${k}.ts`);
const grep = lines(
  40,
  (f) =>
    `${lines(6, (k) => `src/part${f}/${name(f)}.ts:${k * 9 + 1}:  const ${name(k)}${k} = retry(${k});`)}\nsrc/part${f}/${name(f)}.ts-60-}\n--`,
);
const ripgrep = lines(
  30,
  (f) => `src/${name(f)}${f}.ts\n${lines(6, (k) => `${k * 9 + 1}:  return retry(${name(k)}, ${k});`)}\n`,
);
const json = JSON.stringify(
  {
    items: Array.from({ length: 90 }, (_, k) => ({
      name: `${name(k)}-${k}`,
      licence: turn(k, 'MIT', 'ISC'),
      tags: [name(k + 1), name(k + 2)],
      size: k,
    })),
    total: 90,
  },
  null,
  2,
);
const jsonDeep = JSON.stringify(
  Object.fromEntries(
    Array.from({ length: 30 }, (_, k) => [
      `${name(k)}${k}`,
      {
        version: `${k}.0.1`,
        dependencies: Object.fromEntries(NAMES.map((dep, j) => [dep, `^${j}.${k}.0`])),
        on: k % 2 === 0,
      },
    ]),
  ),
  null,
  4,
);
const csv = `id,name,licence,size\n${lines(220, (k) => `${k},${name(k)}-${k},${turn(k, 'MIT', 'ISC', 'MPL-2.0')},${k * 31}`)}`;
const psql = ` id  | name       | total\n-----+------------+-------\n${lines(160, (k) => ` ${String(k).padStart(3)} | ${`${name(k)}${k}`.padEnd(10)} | ${k * 3}`)}\n(160 rows)`;
const columns = `NAME${' '.repeat(20)}READY   STATUS    AGE\n${lines(140, (k) => `${`${name(k)}-${k * 7919}`.padEnd(24)}1/1     ${k === 60 ? 'Error  ' : 'Running'}   ${k}d`)}`;
const markdown = `# Manual\n\n${lines(26, (k) => `## ${name(k)} ${k}\n\nThe option \`${name(k)}_${k}\` sets how the ${name(k + 1)} behaves when it starts up again.\n\n\`\`\`sh\nrun --${name(k)}-${k}\nrun --again\n\`\`\`\n\n${lines(6, (j) => `- more words ${j} about the ${name(j + k)} that nobody asked for.`)}\n`)}`;
const rst = lines(
  24,
  (k) =>
    `${name(k)} ${k}\n${'='.repeat(12)}\n\n.. note:: about ${name(k)}\n\n${lines(8, (j) => `The ${name(j)} is sent when the ${name(j + k)} has been paid, in ${j} days.`)}\n`,
);
const prose = lines(180, (k) =>
  k % 6 === 5
    ? ''
    : `The ${name(k)} of the house was sent to the ${name(k + 2)} before it could be told that ${k} more would follow.`,
);
const fenced = `${python.slice(0, 900)}\n⟦NO_PRUNE_BEGIN⟧\n${lines(30, (k) => `    kept_${k} = ${k}`)}\n⟦NO_PRUNE_END⟧\n${python.slice(900)}`;
const windowed = `[File: src/orders.py (400 lines total)]\n(40 more lines above)\n${python
  .split('\n')
  .slice(40, 220)
  .map((line, i) => `${i + 41}:${line}`)
  .join('\n')}\n(240 more lines below)`;
const arrows = python
  .split('\n')
  .map((line, i) => `${String(i + 1).padStart(5)}→${line}`)
  .join('\n');
const bars = markdown
  .split('\n')
  .map((line, i) => `${i + 1} | ${line}`)
  .join('\n');

/** Texts of the kinds that tools print, made line by line; small enough to be read, large enough to be cut. */
export const MADE: readonly Made[] = [
  {
    name: 'made python',
    text: python,
    goal: 'load_refund_4 returns the wrong value, MAX_RETRIES',
    sourceType: 'code',
    path: 'orders.py',
    origin: 'read',
  },
  {
    name: 'made go',
    text: go,
    goal: 'voucher5 fails with no basket',
    sourceType: 'code',
    path: 'orders.go',
    origin: 'read',
  },
  { name: 'made rust', text: rust, goal: 'payment3 total', sourceType: 'code', path: 'orders.rs' },
  { name: 'made java', text: java, goal: 'IOException in refund9', sourceType: 'code', path: 'Orders.java' },
  { name: 'made ruby', text: ruby, goal: 'invoice_3', sourceType: 'code' },
  { name: 'made c', text: c, goal: 'basket_2 and MAX_ORDERS', sourceType: 'code' },
  { name: 'made shell', text: shell, goal: 'payment_3 copies to tmp', sourceType: 'code' },
  { name: 'made sql', text: sql, goal: 'voucher_11', sourceType: 'code' },
  { name: 'made yaml', text: yaml, goal: 'port of basket-16', sourceType: 'code', path: 'a.yaml' },
  { name: 'made toml', text: toml, goal: 'limit of order 7', sourceType: 'code', path: 'a.toml' },
  { name: 'made css', text: css, goal: 'margin of refund', sourceType: 'code' },
  { name: 'made html', text: html, goal: 'link to voucher 44', sourceType: 'code' },
  { name: 'made pytest', text: pytest, goal: 'Which test fails?', sourceType: 'logs', ...command('pytest -v') },
  { name: 'made jest', text: jest, goal: 'why does the refund test fail', sourceType: 'logs', ...command('npx jest') },
  { name: 'made go test', text: goTest, goal: 'fix the failing test', sourceType: 'logs', ...command('go test ./...') },
  { name: 'made cargo test', text: cargo, goal: 'case_77', sourceType: 'logs', ...command('cargo test') },
  { name: 'made tap', text: tap, goal: 'the refund', sourceType: 'logs', ...command('npm test') },
  { name: 'made maven', text: maven, goal: 'RefundTest', sourceType: 'logs', ...command('mvn test') },
  { name: 'made tsc', text: tsc, goal: 'Property basket14', sourceType: 'logs', ...command('npx tsc') },
  { name: 'made rustc', text: rustc, goal: 'borrow of moved refund', sourceType: 'logs', ...command('cargo build') },
  { name: 'made make', text: make, goal: 'the build breaks', sourceType: 'logs', ...command('make -j4') },
  { name: 'made npm', text: npm, goal: 'ERESOLVE', sourceType: 'logs', ...command('npm install') },
  { name: 'made docker', text: docker, goal: 'which step fails', sourceType: 'logs', ...command('docker build .') },
  { name: 'made groups', text: githubStyle, goal: 'exit code 1', sourceType: 'logs' },
  { name: 'made syslog', text: syslog, goal: 'crash of libc', sourceType: 'logs' },
  { name: 'made access log', text: access, goal: '502 of a voucher', sourceType: 'logs' },
  { name: 'made json log', text: slog, goal: 'invoice 91', sourceType: 'logs', ...command('cat app.log') },
  { name: 'made warnings', text: warnings, goal: 'retry of payment', sourceType: 'logs' },
  { name: 'made python trace', text: pyTrace, goal: 'RefundError', sourceType: 'logs', ...command('python run.py') },
  { name: 'made java trace', text: javaTrace, goal: 'NullPointerException in Rate', sourceType: 'logs' },
  { name: 'made node trace', text: nodeTrace, goal: 'reading total', sourceType: 'logs' },
  { name: 'made git log', text: gitLog, goal: 'refund waits longer', sourceType: 'code', ...command('git log') },
  { name: 'made diff', text: diff, goal: 'Where was timeoutMs lowered?', sourceType: 'code', ...command('git diff') },
  { name: 'made ls', text: lsLong, goal: 'voucher-33.ts', sourceType: 'logs', origin: 'listing', command: 'ls -l' },
  { name: 'made ls -R', text: lsRecursive, goal: 'the refund folder', sourceType: 'logs', ...command('ls -R') },
  { name: 'made tree', text: tree, goal: 'basket-2 in voucher5', sourceType: 'logs', ...command('tree') },
  { name: 'made find', text: find, goal: 'voucher-33.ts', sourceType: 'logs', origin: 'listing', command: 'find .' },
  {
    name: 'made grep',
    text: grep,
    goal: 'retry in part7',
    sourceType: 'code',
    origin: 'search',
    command: 'grep -rn retry src',
  },
  { name: 'made rg', text: ripgrep, goal: 'retry of refund', sourceType: 'code', ...command('rg retry') },
  {
    name: 'made json',
    text: json,
    goal: 'licence of voucher-12',
    sourceType: 'docs',
    ...command('curl -s localhost/items'),
  },
  {
    name: 'made deep json',
    text: jsonDeep,
    goal: 'which version of basket does refund11 want',
    sourceType: 'docs',
    path: 'lock.json',
  },
  { name: 'made csv', text: csv, goal: 'size of order-140', sourceType: 'docs', path: 'a.csv' },
  { name: 'made psql', text: psql, goal: 'total of voucher33', sourceType: 'docs', ...command('psql -c select') },
  {
    name: 'made columns',
    text: columns,
    goal: 'which pod is in Error',
    sourceType: 'docs',
    ...command('kubectl get pods'),
  },
  {
    name: 'made markdown',
    text: markdown,
    goal: 'option `refund_11`',
    sourceType: 'docs',
    path: 'a.md',
    origin: 'read',
  },
  { name: 'made rst', text: rst, goal: 'when is the voucher paid', sourceType: 'docs' },
  { name: 'made prose', text: prose, goal: 'who sent the shipment', sourceType: 'docs' },
  { name: 'made directives', text: fenced, goal: 'load_basket_2', sourceType: 'code', path: 'a.py' },
  {
    name: 'made window',
    text: windowed,
    goal: 'load_basket_2',
    sourceType: 'code',
    ...command('open src/orders.py 41'),
  },
  { name: 'made arrows', text: arrows, goal: 'load_basket_2', sourceType: 'code', path: 'a.py', origin: 'read' },
  { name: 'made bars', text: bars, goal: 'option `refund_11`', sourceType: 'docs' },
  {
    name: 'made framed',
    text: `<output>\nfirst\n${warnings}\n</output>\nexit 0`,
    goal: 'retry of payment',
    sourceType: 'logs',
    frameHead: 2,
    frameTail: 2,
  },
  {
    name: 'made carriage returns',
    text: markdown.replaceAll('\n', '\r\n'),
    goal: 'option `refund_11`',
    sourceType: 'docs',
  },
  { name: 'made github actions', text: githubActionsLog(''), goal: 'why is the build red', sourceType: 'logs' },
  { name: 'made gh run view', text: githubActionsLog('build\tRun tests\t'), goal: 'the voucher', sourceType: 'logs' },
  { name: 'made klog', text: klogLog(), goal: 'What happened to the pods?', sourceType: 'logs' },
  { name: 'made logfmt', text: logfmtLog(), goal: 'why do requests wait', sourceType: 'logs' },
];
