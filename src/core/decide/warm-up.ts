import { textHash } from '../hash.ts';
import type { Decision } from '../ports.ts';
import { decide, decisionKey, type Job } from './decision.ts';

/** Lines per text: enough to run every step of a decision, few enough to take only milliseconds. */
const LINES = 150;
const GOAL = 'Why does the payment of order 77 fail?';

function repeated(lineOf: (i: number) => string, lines = LINES): string {
  return Array.from({ length: lines }, (_, i) => lineOf(i)).join('\n');
}

function stamped(i: number): string {
  const at = `2026-01-01T00:${String(i % 60).padStart(2, '0')}:00.000Z`;
  return i === 77 ? `${at} ERROR payment of order ${i} failed` : `${at} INFO request ${i} served in ${i % 40} ms`;
}

/** One text of each kind, in the order of `KINDS`, with the facts that identify it. */
const texts = (): readonly Pick<Job, 'text' | 'hints'>[] => [
  {
    text: repeated(
      (i) => `export function load${i}(id: string): Order {\n  return orders.get(id + ${i});\n}\n`,
      LINES / 3,
    ),
    hints: { origin: 'read', path: 'orders.ts' },
  },
  {
    text: repeated((i) => (i % 10 === 0 ? `## Part ${i}\n` : `Order ${i} is paid by the customer in part ${i}.`)),
    hints: { origin: 'unknown' },
  },
  { text: repeated(stamped), hints: { origin: 'command', command: 'npm start' } },
  {
    text: repeated((i) => `src/orders${i % 9}.ts:${i + 1}:  const order${i} = load(${i});`),
    hints: { origin: 'search' },
  },
  { text: repeated((i) => `logs/app${i % 5}.log:${i + 1}:${stamped(i)}`), hints: { origin: 'search' } },
  {
    text: repeated(
      (i) =>
        `diff --git a/f${i}.ts b/f${i}.ts\n--- a/f${i}.ts\n+++ b/f${i}.ts\n@@ -1,20 +1,20 @@\n${repeated((j) => `+const order${j} = ${i};\n context ${j}`, 10)}`,
      LINES / 15,
    ),
    hints: { origin: 'command', command: 'git diff' },
  },
  {
    text: `On branch main\nChanges not staged for commit:\n${repeated((i) => `\tmodified:   src/order${i}.ts`)}`,
    hints: { origin: 'command', command: 'git status' },
  },
  {
    text: repeated((i) => `-rw-r--r-- 1 user user ${1000 + i} Jan  1 00:00 order${i}.ts`),
    hints: { origin: 'listing', command: 'ls -l' },
  },
  {
    text: JSON.stringify(
      Array.from({ length: LINES / 5 }, (_, i) => ({ id: i, state: 'paid', total: i * 3 })),
      null,
      2,
    ),
    hints: { origin: 'command', command: 'curl /orders' },
  },
  {
    text: repeated((i) => `${i},order ${i},paid,${i * 3}`),
    hints: { origin: 'read', path: 'orders.csv' },
  },
];

const NEVER = (): boolean => false;

/**
 * Decides about one text of each kind per step. The first decision of a thread takes up to half a second of CPU time,
 * because the code is not compiled yet; later ones of the same kind take milliseconds.
 */
export function* warmUp(): Generator<Decision, void> {
  const limits = { maxPruneRatio: 0.9, minKeepLines: 20 };
  for (const { text, hints } of texts()) {
    const about = { goal: GOAL, limits, tool: 'bash', caller: 'proxy', recoveryHint: 'tool' } as const;
    const job: Job = { text, textHash: textHash(text), hints, ...about };
    yield decide(job, decisionKey(job), NEVER);
  }
}
