import { readFileSync } from 'node:fs';
import { dollarsServed } from '@mcp-pruner/money/bill.ts';
import { Prices } from '@mcp-pruner/money/prices.ts';
import { pricing } from '@mcp-pruner/money/served-price.ts';
import { describe, expect, it } from 'vitest';
import { planRead } from '../../src/engine/plan.ts';
import { usageFacts } from '../../src/proxy/report/ledger-facts.ts';
import { AnswerReader } from '../../src/wires/dialects/answers/reader.ts';

/** A command's output that people reported as cut by other programs, and the lines that must stay. */
interface Output {
  readonly command: string;
  readonly goal: string;
  readonly lines: readonly string[];
  readonly stay: readonly string[];
}

const numbered = <T>(count: number, line: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => line(i));
const passed = (i: number): string => `  Passed Shop.Tests.Cart${i % 40}.Adds_item_${i} [${(i * 7) % 90} ms]`;
const FAILED_DOTNET =
  'Failed!  - Failed:     3, Passed:   382, Skipped:     0, Total:   385, Duration: 1 m 2 s - Sample.Tests.dll (net8.0)';
const GO_FATAL = [
  'fatal error: checkptr: pointer arithmetic computed bad pointer value',
  'goroutine 41 [running]:',
  'example.com/birds/internal/classifier.(*Tensor).At(0xc000112340, 0x5)',
];
const CARGO = [
  'failures:',
  '    tests::alpha',
  '    tests::beta',
  'test result: FAILED. 298 passed; 2 failed; 0 ignored; 0 measured',
];

const OUTPUTS: readonly (readonly [string, Output])[] = [
  [
    'the summary of a failed run of dotnet test',
    {
      ...{ command: 'dotnet test', goal: 'dotnet test\nMake the tests pass.' },
      lines: [
        'Test run for /src/Sample.Tests.dll (.NETCoreApp,Version=v8.0)',
        ...numbered(382, passed),
        '',
        FAILED_DOTNET,
      ],
      stay: [FAILED_DOTNET],
    },
  ],
  [
    'the fatal error of go test, with its goroutine',
    {
      ...{ command: 'go test -race ./...', goal: 'go test -race ./...' },
      lines: [
        ...numbered(300, (i) => `=== RUN   TestClassify${i}\n--- PASS: TestClassify${i} (0.0${i % 10}s)`),
        ...['=== RUN   TestTensor', ...GO_FATAL, '\t/src/internal/classifier/tensor.go:88 +0x1d4', 'exit status 2'],
        'FAIL\texample.com/birds/internal/classifier\t0.924s',
        ...numbered(36, (i) => `ok  \texample.com/birds/internal/p${i}\t0.0${i % 10}s`),
        'FAIL',
      ],
      stay: [...GO_FATAL, 'FAIL\texample.com/birds/internal/classifier\t0.924s'],
    },
  ],
  [
    'the summary of a passing run behind notices of an earlier step',
    {
      ...{ command: 'make phpunit', goal: 'make phpunit' },
      lines: [
        ...numbered(
          240,
          (i) => `PHP Notice:  Undefined index: opt${i % 9} in /app/vendor/x/Loader.php on line ${100 + (i % 9)}`,
        ),
        ...numbered(10, (i) => `${'.'.repeat(60)} ${60 * (i + 1)} / 596 (${10 * (i + 1)}%)`),
        ...['', 'Time: 00:35.988, Memory: 382.00 MB', '', 'OK (596 tests, 1752 assertions)', ''],
        'Generating code coverage report in PHP format ... done [00:02.120]',
      ],
      stay: ['OK (596 tests, 1752 assertions)'],
    },
  ],
  [
    'the failure at the end of a task runner that wraps the tests',
    {
      ...{ command: 'just test', goal: 'just test' },
      lines: [
        'uv run pytest -q',
        ...numbered(400, (i) => `tests/test_${i % 30}.py::test_case_${i} PASSED`),
        'FAILED: test_checkout',
        'result: 1 failures',
        'error: Recipe `test` failed on line 4 with exit code 1',
      ],
      stay: ['FAILED: test_checkout', 'result: 1 failures', 'error: Recipe `test` failed on line 4 with exit code 1'],
    },
  ],
  [
    'the names of failed tests below the heading of cargo',
    {
      ...{ command: 'cargo test', goal: 'cargo test' },
      lines: [
        'running 300 tests',
        ...numbered(298, (i) => `test tests::case_${i} ... ok`),
        'test tests::alpha ... FAILED',
        'test tests::beta ... FAILED',
        '',
        ...CARGO,
      ],
      stay: CARGO,
    },
  ],
];

describe('lines that other programs lost', () => {
  it.each(OUTPUTS)('stay: %s', (_, { command, goal, lines, stay }) => {
    const text = `${lines.join('\n')}\n`;
    const all = text.split('\n');
    const limits = { maxPruneRatio: 0.9, minKeepLines: 20 };
    const { plan } = planRead({ text, goal, hints: { origin: 'command', command }, limits });
    const isCut = (line: number): boolean =>
      plan.cuts.some(({ startLine, endLine }) => startLine <= line && line <= endLine);
    expect(stay.filter((line) => isCut(all.indexOf(line) + 1))).toEqual([]);
    expect(plan.cuts.reduce((sum, { startLine, endLine }) => sum + endLine - startLine + 1, 0)).toBeGreaterThan(
      all.length / 3,
    );
  });

  it.each([
    ['an array with its count beside it', JSON.stringify({ slugs: numbered(900, (i) => `r${i}`), total: 900 })],
    [
      'records on one line',
      JSON.stringify(numbered(40, (i) => ({ id: i, name: `record ${i}`, body: 'x'.repeat(300), tags: [`t${i}`] }))),
    ],
    [
      'a small task with tags',
      JSON.stringify({ id: 79, title: 'test', description: null, tags: ['a', 'b'], subtasks: [{ id: 1 }] }),
    ],
  ])('stay in JSON on one line: %s', (_, text) => {
    const limits = { maxPruneRatio: 0.9, minKeepLines: 20 };
    expect(planRead({ text, goal: 'Which are there?', hints: { origin: 'unknown' }, limits }).plan.cuts).toEqual([]);
  });
});

const prices = new Prices([{ path: 'prices.toml', text: readFileSync('config/prices.toml', 'utf8') }]);

/** The dollars of a streamed answer. */
function billed(model: string, events: readonly object[]): number {
  const reader = new AnswerReader();
  for (const event of events) reader.event(Buffer.from(JSON.stringify(event)));
  const usage = usageFacts(reader.end().usage);
  if (usage === null) throw new Error('the answer has no usage');
  return dollarsServed(usage, pricing(prices.of(model, 0), { model, usage }, prices));
}

describe('streamed answers that other programs billed wrongly', () => {
  it('are billed with all cache writes of a search, of which the first event breaks down only some', () => {
    const start = {
      input_tokens: 5,
      cache_creation_input_tokens: 31_490,
      cache_read_input_tokens: 0,
      output_tokens: 1,
    };
    const events = [
      {
        type: 'message_start',
        message: {
          usage: { ...start, cache_creation: { ephemeral_5m_input_tokens: 31_490, ephemeral_1h_input_tokens: 0 } },
        },
      },
      {
        type: 'message_delta',
        usage: {
          ...{
            input_tokens: 123_201,
            cache_creation_input_tokens: 184_457,
            cache_read_input_tokens: 426_653,
            output_tokens: 900,
          },
          server_tool_use: { web_search_requests: 5 },
        },
      },
    ];
    const expected = (123_201 * 5 + 184_457 * 6.25 + 426_653 * 0.5 + 900 * 25) / 1e6 + 0.05;
    expect(billed('claude-opus-5', events)).toBeCloseTo(expected, 9);
  });

  it('are billed with cached tokens in a last chunk that still has a choice', () => {
    const usage = {
      prompt_tokens: 16_111,
      completion_tokens: 2,
      total_tokens: 16_113,
      prompt_tokens_details: { cached_tokens: 15_872 },
    };
    const events = [
      { choices: [{ index: 0, delta: { content: 'Yes.' } }] },
      { choices: [{ index: 0, delta: {} }], usage },
    ];
    expect(billed('gpt-5', events)).toBeCloseTo((239 * 1.25 + 15_872 * 0.125 + 2 * 10) / 1e6, 9);
  });
});
