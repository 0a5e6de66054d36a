import { describe, expect, it } from 'vitest';
import { planPrune } from '../../src/engine/plan.ts';
import { lineAt, splitLines } from '../../src/engine/text/lines.ts';
import type { Hints, SourceType } from '../../src/engine/types.ts';

interface Given {
  readonly text: string;
  readonly goal: string;
  readonly sourceType?: SourceType;
  readonly hints?: Hints;
  readonly ratio?: number;
}

/** What the plan is for a text, with the kept lines and the cut ones. */
function prune({ text, goal, sourceType, hints, ratio = 0.9 }: Given) {
  const lines = splitLines(text);
  const plan = planPrune({
    text,
    goal,
    limits: { maxPruneRatio: ratio, minKeepLines: 5 },
    ...(sourceType && { sourceType }),
    ...(hints && { hints }),
  });
  const gone = new Set<number>();
  for (const { startLine, endLine } of plan.cuts) for (let i = startLine; i <= endLine; i++) gone.add(i);
  const kept: string[] = [];
  const cut: string[] = [];
  for (let line = 1; line <= lines.count; line++) (gone.has(line) ? cut : kept).push(lineAt(lines, line));
  return { plan, kept, cut };
}

const many = (count: number, make: (k: number) => string): string =>
  Array.from({ length: count }, (_, k) => make(k)).join('\n');
const command = (text: string): Hints => ({ origin: 'command', command: text });

const python = [
  '#!/usr/bin/env python3',
  '"""Orders."""',
  'import os',
  'from decimal import (',
  '    Decimal,',
  ')',
  '',
  many(
    30,
    (k) =>
      `${k % 10 === 0 ? `class Part${k}:\n    """Part ${k}."""\n\n` : ''}    @staticmethod\n    def ${k === 13 ? 'refund_order' : `step_${k}`}(order, amount):\n${many(9, (j) => `        local_${k}_${j} = order.field_${(k + j) % 7} * ${j}`)}\n        return ${k === 13 ? 'refund(order)' : `local_${k}_0`}\n`,
  ),
].join('\n');

describe('source code', () => {
  it('keeps header, imports, declarations and their decorators, and the function that the goal names', () => {
    const { plan, kept, cut } = prune({
      text: python,
      goal: 'refund_order refunds the wrong amount',
      sourceType: 'code',
    });
    expect(plan.kind).toBe('python');
    expect(cut.length).toBeGreaterThan(100);
    expect(cut.filter((line) => /^\s*(?:def|class|import|from|@)|Decimal/.test(line))).toEqual([]);
    expect(kept).toContain('        return refund(order)');
    expect(kept.filter((line) => line.includes('local_13_'))).toHaveLength(9);
  });

  it('loses only whole blocks if it was read from a file', () => {
    const { plan, kept } = prune({
      text: python,
      goal: 'refund_order',
      hints: { origin: 'read', path: 'orders.py', question: true },
    });
    expect(plan.cuts.length).toBeGreaterThan(0);
    for (let k = 0; k < 30; k++) {
      expect([0, 9]).toContain(kept.filter((line) => line.includes(`local_${k}_`) && !line.includes('return')).length);
    }
  });

  it('is cut differently for another goal', () => {
    const one = prune({ text: python, goal: 'refund_order', sourceType: 'code' }).plan.cuts;
    const other = prune({ text: python, goal: 'step_27 is slow', sourceType: 'code' }).plan.cuts;
    expect(one).not.toEqual(other);
  });

  it('with line numbers is ranked by the content after them', () => {
    const numbered = python
      .split('\n')
      .map((line, i) => `${String(i + 1).padStart(6)}\t${line}`)
      .join('\n');
    const { plan, kept } = prune({ text: numbered, goal: 'refund_order refunds the wrong amount', sourceType: 'code' });
    expect(plan.kind).toBe('python');
    expect(kept.some((line) => line.endsWith('return refund(order)'))).toBe(true);
    expect(kept.some((line) => line.endsWith('import os'))).toBe(true);
  });

  it('is ranked the same if blank lines consist of a line number and a tab', () => {
    const numbered = python
      .split('\n')
      .map((line, i) => `${i + 1}\t${line}`)
      .join('\n');
    const cuts = (text: string) => prune({ text, goal: 'refund_order refunds the wrong amount', sourceType: 'code' });
    expect(cuts(numbered).kept.filter((line) => line.includes('local_13_'))).toHaveLength(9);
    expect(cuts(numbered).cut.length).toBeGreaterThan(100);
  });

  it('keeps the definitions that the goal names, including constants', () => {
    const body = (name: string): string => many(20, (j) => `  const ${name}${j} = order.field${j} * ${j};`);
    const text = `const MAX_RETRIES = 5;\n\n${many(30, (k) => `function ${k === 17 ? 'put' : `step${k}`}(order) {\n${body(`v${k}x`)}\n}\n`)}`;
    const { kept, cut } = prune({
      text,
      goal: 'How many retries does put make?',
      hints: { origin: 'read', path: 'a.js', question: true },
    });
    expect(kept).toContain('const MAX_RETRIES = 5;');
    expect(kept.filter((line) => line.includes('v17x'))).toHaveLength(20);
    expect(cut.length).toBeGreaterThan(300);
  });

  it('from a partial file read is separated from the frame of the tool, whose lines stay', () => {
    const window = python
      .split('\n')
      .slice(40, 160)
      .map((line, i) => `${i + 41}:${line}`);
    const head = [
      'Text replaced. Please review the changes.',
      '[File: src/orders.py (400 lines total)]',
      '(40 more lines above)',
    ];
    const tail = ['(240 more lines below)', '(Open file: /repo/src/orders.py)', 'bash-$'];
    const text = [...head, ...window, ...tail].join('\n');
    const hints = { ...command('open src/orders.py 41'), question: true };
    const { plan, kept } = prune({ text, goal: 'step_9 forgets the amount', hints });
    expect(plan.kind).toBe('python');
    expect(plan.cuts.length).toBeGreaterThan(0);
    expect(kept.slice(0, 3)).toEqual(head);
    expect(kept.slice(-3)).toEqual(tail);
  });
});

const service = (middle: string): string =>
  [
    many(150, (k) => `2024-05-01 10:00:${k % 60} INFO request ${k} served in ${k % 37} ms`),
    middle,
    many(150, (k) => `2024-05-01 10:05:${k % 60} INFO request ${k} served in ${k % 37} ms`),
  ].join('\n');

describe('logs', () => {
  it('keep every line with an error, an exception or a traceback, and the lines next to it', () => {
    const { kept, cut } = prune({
      text: service(
        '2024-05-01 10:02:59 WARN pool exhausted\n2024-05-01 10:03:00 ERROR no connection\n2024-05-01 10:03:01 INFO pool reset',
      ),
      goal: 'why do requests fail?',
      sourceType: 'logs',
    });
    expect(cut.length).toBeGreaterThan(200);
    expect(kept.join('\n')).toContain(
      'WARN pool exhausted\n2024-05-01 10:03:00 ERROR no connection\n2024-05-01 10:03:01 INFO pool reset',
    );
  });

  it('keep a stack trace whole', () => {
    const trace = `Exception in thread "main" java.lang.IllegalStateException: no rate\n${many(12, (k) => `\tat shop.Price.step${k}(Price.java:${k})`)}\nCaused by: java.lang.NullPointerException\n\tat shop.Rate.of(Rate.java:7)`;
    const { kept, cut } = prune({ text: service(trace), goal: '', sourceType: 'logs' });
    expect(cut.length).toBeGreaterThan(200);
    expect(kept.join('\n')).toContain(trace);
  });

  it('keep the one line that answers the goal, at INFO level too', () => {
    const { kept } = prune({
      text: service('2024-05-01 10:03:00 INFO deployed release 4.2.1-rc7'),
      goal: 'Which release was deployed?',
      sourceType: 'logs',
    });
    expect(kept.some((line) => line.includes('4.2.1-rc7'))).toBe(true);
  });

  it('of tests keep every failure with its diagnostics and the summary, but no passed tests', () => {
    const text = `TAP version 13\n${many(120, (k) => `ok ${k + 1} - adds the item ${k}`)}\nnot ok 121 - takes ten percent off\n  ---\n  expected: 17.99\n  actual: 17.991\n  ...\n${many(60, (k) => `ok ${k + 122} - counts the item ${k}`)}\n# tests 181\n# pass 180\n# fail 1`;
    const { plan, kept, cut } = prune({ text, goal: 'Which test fails?', hints: command('npm test') });
    expect(plan.kind).toBe('test-run');
    expect(kept.join('\n')).toContain('not ok 121 - takes ten percent off\n  ---\n  expected: 17.99\n  actual: 17.991');
    expect(kept).toContain('# fail 1');
    expect(cut.length).toBeGreaterThan(120);
    expect(plan.cuts.some(({ reason }) => reason === 'tests réussis')).toBe(true);
  });
});

describe('documents', () => {
  const section = (k: number): string =>
    `## Option ${k}\n\nThe option number ${k} sets how the part ${k} behaves when it starts up again.\n\n\`\`\`sh\nrun --option-${k}\nrun --again-${k}\nrun --third-${k}\n\`\`\`\n\n${many(8, (j) => `More words ${j} about part ${k} that nobody asked for in this text.`)}\n`;
  const text = `# Manual\n\n${many(30, (k) => (k === 11 ? `## Timeouts\n\nA request that waits longer than the timeout is cancelled.\n` : section(k)))}`;

  it('keep all headings, and cut or keep fenced blocks as a whole', () => {
    const { kept, cut } = prune({ text, goal: 'When is a request cancelled by the timeout?', sourceType: 'docs' });
    expect(cut.length).toBeGreaterThan(100);
    expect(cut.filter((line) => /^#+ /.test(line))).toEqual([]);
    expect(kept).toContain('A request that waits longer than the timeout is cancelled.');
    for (let k = 0; k < 30; k++) {
      if (k === 11) continue;
      expect([0, 3]).toContain(kept.filter((line) => line.startsWith('run ') && line.endsWith(`-${k}`)).length);
    }
    expect(kept.filter((line) => line.startsWith('```')).length % 2).toBe(0);
  });

  it('keep at least 95 % of their structural lines in a mild cut', () => {
    const structural = (line: string): boolean => line.startsWith('#') || line.startsWith('```');
    const { kept, cut } = prune({ text, goal: 'timeout', sourceType: 'docs', ratio: 0.5 });
    expect(cut.filter((line) => /^#+ /.test(line))).toEqual([]);
    expect(kept.filter(structural).length).toBeGreaterThanOrEqual(0.95 * text.split('\n').filter(structural).length);
    expect(cut.filter((line) => line.startsWith('```')).length % 2).toBe(0);
  });
});

describe('structured outputs', () => {
  it('in columns aligned by spaces are treated as a table, and the requested row stays', () => {
    const row = (name: string, version: string): string => `${name.padEnd(28)}${version.padEnd(12)}MIT`;
    const text = `${row('name', 'version')}\n${many(120, (k) => row(k === 70 ? 'vitest' : `package-${k * 37}`, `${k % 9}.${k}.0`))}`;
    const { plan, kept } = prune({ text, goal: 'Which version of vitest is it?', hints: command('column -t list') });
    expect(plan.kind).toBe('table');
    expect(kept[0]).toBe(row('name', 'version'));
    expect(kept).toContain(row('vitest', '7.70.0'));
    expect(kept.length).toBeLessThan(60);
  });

  it('in JSON lose only whole elements', () => {
    const records = Array.from({ length: 120 }, (_, k) => ({
      name: k === 70 ? 'lightning' : `package-${k}`,
      licence: 'MIT',
      size: k,
    }));
    const { plan, kept, cut } = prune({
      text: JSON.stringify(records, null, 2),
      goal: 'Which licence has lightning?',
      hints: command('node list.mjs'),
    });
    expect(plan.kind).toBe('json');
    expect(cut.length).toBeGreaterThan(200);
    expect(kept.join('\n')).toContain('"name": "lightning",\n    "licence": "MIT"');
    const rest = JSON.parse(`${kept.join('\n').replace(/,\s*\]$/, ']')}`) as unknown[];
    expect(rest.every((record) => Object.keys(record as object).length === 3)).toBe(true);
  });

  it('in table form keep the header and the requested row', () => {
    const text = `name,licence,size\n${many(200, (k) => (k === 90 ? 'lightning,MPL-2.0,77' : `package-${k},MIT,${k}`))}`;
    const { kept, cut } = prune({ text, goal: 'licence of lightning', hints: command('cat packages.csv') });
    expect(kept).toContain('name,licence,size');
    expect(kept).toContain('lightning,MPL-2.0,77');
    expect(cut.length).toBeGreaterThan(100);
  });

  it('in tree form keep the parents of an entry', () => {
    const text = many(
      60,
      (k) => `├─┬ dep-${k}@1.0.${k}\n│ ├── ${k === 33 ? 'picomatch@2.3.1' : `leaf-${k}@2.0.0`}\n│ └── other-${k}@3.0.0`,
    );
    const { kept, cut } = prune({
      text,
      goal: 'Who brings in picomatch?',
      hints: { origin: 'listing', command: 'npm ls' },
    });
    expect(cut.length).toBeGreaterThan(60);
    expect(kept.join('\n')).toContain('├─┬ dep-33@1.0.33\n│ ├── picomatch@2.3.1');
  });

  it('of a search keep a line of every file that was hit', () => {
    const text = many(40, (f) =>
      many(8, (k) => `src/part${f}.ts:${k + 1}:export const value${k} = retry(${k}); // ${f}`),
    );
    const { kept } = prune({
      text,
      goal: 'retry in part7',
      hints: { origin: 'search', command: 'grep -rn retry src' },
    });
    for (let f = 0; f < 40; f++) expect(kept.some((line) => line.startsWith(`src/part${f}.ts:`))).toBe(true);
  });

  it('of a diff keep file and hunk headers, and the hunk that the goal is about', () => {
    const text = many(
      40,
      (f) =>
        `diff --git a/f${f}.js b/f${f}.js\n--- a/f${f}.js\n+++ b/f${f}.js\n@@ -1,6 +1,6 @@\n context ${f}\n-${f === 9 ? 'const timeoutMs = 500' : `old line ${f}`}\n+${f === 9 ? 'const timeoutMs = 50' : `new line ${f}`}\n more ${f}\n and more of the context ${f}\n and still more of it ${f}`,
    );
    const { plan, kept, cut } = prune({ text, goal: 'Where was timeoutMs lowered?', hints: command('git diff') });
    expect(plan.kind).toBe('diff');
    expect(cut.filter((line) => /^(?:diff|---|\+\+\+|@@)/.test(line))).toEqual([]);
    expect(kept.join('\n')).toContain('-const timeoutMs = 500\n+const timeoutMs = 50');
  });
});

describe('any text', () => {
  it('keeps the lines between NO_PRUNE directives, or to the end if there is no closing directive', () => {
    const quiet = many(100, (k) => `2024-05-01 INFO tick ${k}`);
    const { kept } = prune({ text: `${quiet}\n⟦NO_PRUNE_BEGIN⟧\n${quiet}`, goal: '', sourceType: 'logs' });
    expect(kept.filter((line) => line.includes('tick')).length).toBeGreaterThanOrEqual(100);
    expect(kept).toContain('⟦NO_PRUNE_BEGIN⟧');
  });

  it('is left whole with a warning if it has fewer lines than min_keep_lines, and without one if no cut pays', () => {
    const limits = { maxPruneRatio: 0.9, minKeepLines: 10 };
    expect(planPrune({ text: 'a\nb\n', goal: '', limits })).toMatchObject({
      cuts: [],
      warnings: ['constraints_unmet'],
    });
    const small = { maxPruneRatio: 0.75, minKeepLines: 1 };
    expect(planPrune({ text: 'L1\nL2\nL3\nL4', goal: 'x', sourceType: 'docs', limits: small })).toMatchObject({
      cuts: [],
      warnings: [],
    });
  });

  it('is left whole with a warning when cancelled', () => {
    const plan = planPrune({
      text: python,
      goal: 'x',
      limits: { maxPruneRatio: 0.9, minKeepLines: 1 },
      shouldStop: () => true,
    });
    expect(plan).toMatchObject({ cuts: [], warnings: ['timeout'], lineCount: splitLines(python).count });
  });

  it('is left whole if it is large and nearly blank', () => {
    const limits = { maxPruneRatio: 0.9, minKeepLines: 10 };
    expect(planPrune({ text: 'x\n\n'.repeat(40_000), goal: 'x', limits })).toMatchObject({
      cuts: [],
      lineCount: 80_000,
    });
    expect(planPrune({ text: 'x\n', goal: 'x', limits }).warnings).toEqual(['constraints_unmet']);
  });
});
