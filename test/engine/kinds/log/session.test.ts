import { describe, expect, it } from 'vitest';
import { planPrune } from '../../../../src/engine/plan.ts';
import { lineAt, splitLines } from '../../../../src/engine/text/lines.ts';
import type { Plan } from '../../../../src/engine/types.ts';

/** A whole number below `limit` that follows from a seed. */
function pick(seed: number, limit: number): number {
  return (Math.imul(seed + 11, 2_654_435_761) >>> 9) % limit;
}

const letters = (seed: number, from: string): string =>
  Array.from({ length: 12 }, (_, k) => from[pick(seed * 13 + k * 7, from.length)]).join('');
const mixed = (seed: number): string => letters(seed, 'ghjkmnpqrstvwxyz23456789');

/** Ten short tables, as commands in a session print them. */
const TABLES: Readonly<Record<string, readonly string[]>> = {
  'docker ps -a, ids of letters and digits': [
    'CONTAINER ID   IMAGE         STATUS                      NAMES',
    `${mixed(1)}   nginx:1.25    Up 3 hours                  web-prod`,
    `${mixed(2)}   redis:7       Up 3 hours (healthy)        cache-prod`,
    `${mixed(3)}   postgres:15   Exited (1) 30 minutes ago   db-prod`,
  ],
  'docker ps -a, hexadecimal ids': [
    'CONTAINER ID   IMAGE         STATUS                      NAMES',
    'a1b2c3d4e5f6   nginx:1.25    Up 3 hours                  web-prod',
    'b1b2c3d4e5f7   postgres:15   Exited (137) 9 minutes ago  db-prod',
  ],
  'kubectl get pods': [
    'NAME          READY   STATUS             RESTARTS   AGE',
    'web-x7k2p     1/1     Running            0          3h',
    'pay-q8r5t     0/1     CrashLoopBackOff   41         3h',
  ],
  'df -h': [
    'Filesystem      Size  Used Avail Use% Mounted on',
    '/dev/root        40G   12G   28G  30% /',
    '/dev/data       100G  100G     0 100% /var/lib/db',
  ],
  'free -m': [
    '               total        used        free',
    'Mem:           15990       15310         120',
    'Swap:           2047        2047           0',
  ],
  'ss -ltn': [
    'State    Recv-Q   Local Address:Port',
    'LISTEN   0        127.0.0.1:6379',
    'LISTEN   129      0.0.0.0:443',
  ],
  psql: [
    ' relation | mode          | granted',
    '----------+---------------+---------',
    ' orders   | AccessShare   | t',
    ' orders   | Exclusive     | f',
  ],
  'systemctl list-units': [
    '  nginx.service      loaded active running nginx',
    '● postgres.service   loaded failed failed  PostgreSQL',
  ],
  ps: ['  PID STAT     TIME COMMAND', ' 3411 D    00:41:12 rsync', ' 7719 Z    00:00:00 convert'],
  'ls -l': [
    '-rw-r----- 1 root adm   91002 Feb 11 10:00 access.log',
    '-rw-r----- 1 root adm       0 Feb 11 10:00 error.log',
  ],
};

const beat = (i: number): string =>
  `10:${String(10 + (Math.floor(i / 60) % 50))}:${String(i % 60).padStart(2, '0')} heartbeat ok seq=${1000 + i} rtt=${pick(i, 40)}ms`;
const beats = (from: number, count: number): string[] => Array.from({ length: count }, (_, i) => beat(from + i));

/** A session with a table between two runs of quiet lines. */
function session(table: readonly string[], placement: number): string[] {
  const before = 20 + pick(placement, 160);
  const after = 20 + pick(placement * 5 + 1, 120);
  return [
    '$ ./watch.sh',
    ...beats(0, before),
    '$ ./look.sh',
    ...table,
    '$ ./watch.sh --more',
    ...beats(before, after),
    '$ ./finish.sh',
    ...beats(before + after, 48),
  ];
}

function plan(all: readonly string[]): { plan: Plan; cut: (line: number) => boolean } {
  const made = planPrune({
    text: `${all.join('\n')}\n`,
    goal: 'why is the site down?',
    hints: { origin: 'command', command: './session.sh' },
    limits: { maxPruneRatio: 0.9, minKeepLines: 20 },
  });
  const cut = (line: number): boolean => made.cuts.some((one) => one.startLine <= line && line <= one.endLine);
  return { plan: made, cut };
}

describe('a session log', () => {
  it.each(Object.entries(TABLES))('keeps %s and all commands at 50 places between quiet lines', (_, table) => {
    for (let placement = 0; placement < 50; placement++) {
      const all = session(table, placement);
      const { cut } = plan(all);
      const lost = all.filter((line, i) => (table.includes(line) || line.startsWith('$ ')) && cut(i + 1));
      expect(lost, `placement ${placement}`).toEqual([]);
    }
  });

  it.each(Object.entries(TABLES))('keeps %s at 50 places in its tail, where quiet lines are cut first', (_, table) => {
    for (let placement = 0; placement < 50; placement++) {
      const quiet = beats(0, 200 + pick(placement, 100));
      const at = quiet.length - 1 - pick(placement * 3, 60);
      const all = [...quiet.slice(0, at), ...table, ...quiet.slice(at)];
      const { plan: made, cut } = plan(all);
      expect(made.cuts.length).toBeGreaterThan(0);
      expect(all.filter((line, i) => table.includes(line) && cut(i + 1))).toEqual([]);
    }
  });

  it('cuts as repetitive only lines with repeated shapes', () => {
    for (let placement = 0; placement < 50; placement++) {
      const table = Object.values(TABLES)[placement % 10] ?? [];
      const text = splitLines(`${session(table, placement).join('\n')}\n`);
      for (const { startLine, endLine, reason } of plan(session(table, placement)).plan.cuts) {
        if (!reason.includes('répétitif')) continue;
        for (let line = startLine; line <= endLine; line++) expect(lineAt(text, line)).toMatch(/ heartbeat ok /);
      }
    }
  });

  it('has no headings if most of its lines look like echoed commands', () => {
    const traced = Array.from({ length: 300 }, (_, i) => `+ install -m 644 file-${i}.h /usr/include`);
    expect(plan(traced).plan.cuts.length).toBeGreaterThan(0);
  });
});

it('the headings of similar failures all stay', () => {
  const failures = Array.from({ length: 24 }, (_, i) => [
    `  ${i + 1}) [chromium] › tests/cart.spec.ts:${12 + i}:5 › cart › adds item ${i + 1} ─────────`,
    '',
    '    Error: expect(received).toBe(expected) // Object.is equality',
    '',
    '    Expected: 3',
    '    Received: 2',
    '',
    ...Array.from(
      { length: 7 },
      (_, k) => `    ${k === 3 ? '>' : ' '} ${10 + k} |   const line${k} = page.locator('.row').nth(${k});`,
    ),
    '       |                                       ^',
    `        at tests/cart.spec.ts:${14 + i}:30`,
    '',
  ]).flat();
  const all = ['Running 400 tests using 4 workers', ...failures, '  24 failed', '  376 passed (2.1m)'];
  const { cut } = plan(all);
  expect(all.filter((line, i) => /^ {2}\d+\) /.test(line) && cut(i + 1))).toEqual([]);
});
