import { describe, expect, it } from 'vitest';
import { planPrune } from '../../src/engine/plan.ts';
import type { Hints } from '../../src/engine/types.ts';
import { sourceFile } from '../helpers/texts.ts';

const limits = { maxPruneRatio: 0.9, minKeepLines: 20 };
const WORDS = 'queue lease worker retry token region bucket shard quota signal batch replica'.split(' ');
const word = (i: number): string => WORDS[i % WORDS.length] ?? '';
const sentence = (i: number): string =>
  `The ${word(i)} of each ${word(i * 5 + 1)} is kept until the ${word(i * 7 + 2)} ends, unless a ${word(i * 3)} asks for it.`;
const lines = (count: number, line: (i: number) => string): string =>
  Array.from({ length: count }, (_, i) => line(i)).join('\n');

const markdown = lines(30, (i) => `## ${word(i)} ${i}\n\n${sentence(i)}\n- ${sentence(i + 1)}\n`);
const prose = lines(30, (i) => `${sentence(i)} ${sentence(i + 2)}\n${sentence(i + 4)}\n`);
const compose = `services:\n${lines(
  16,
  (i) => `  ${word(i)}-${i}:
    image: registry.example.com/${word(i + 1)}:${i}
    restart: unless-stopped
    environment:
      ${word(i + 2).toUpperCase()}_URL: http://${word(i + 3)}:80${i}
      LOG_LEVEL: info
    ports:
      - "80${i}:8080"
    depends_on: [${word(i + 4)}]
    healthcheck:
      test: ["CMD", "curl", "-f", "http://localhost:8080/health"]
      interval: 30s`,
)}`;
const toml = lines(
  60,
  (i) =>
    `[${word(i)}.${i}]\nname = "${word(i + 1)}"\nurl = "https://${word(i + 2)}.example.com"\nretries = ${i}\nmode = "${word(i + 3)}"\n`,
);
const env = lines(
  160,
  (i) => `${word(i).toUpperCase()}_${word(i * 5 + 1).toUpperCase()}_${i}=/srv/${word(i + 2)}/${i}`,
);
const source = sourceFile(20);

const DOCUMENTS = { markdown, prose, compose, toml, env, source };
const COMMANDS = [
  'gh api repos/acme/shop/contents/README.md --jq .content | base64 -d',
  'curl -s https://docs.example.com/queues',
  'ssh build.example.com cat /srv/app/notes',
  'docker exec web cat /etc/app/settings',
  'kubectl get configmap app -o jsonpath={.data.settings}',
  'gh pr view 17',
];

function cutLines(text: string, hints: Hints, goal = 'fix the lost update of order 77'): number {
  expect(text.length).toBeGreaterThan(4_000);
  const { cuts } = planPrune({ text, goal, hints, limits });
  return cuts.reduce((sum, { startLine, endLine }) => sum + endLine - startLine + 1, 0);
}

describe.each(Object.entries(DOCUMENTS))('a document stays whole, whatever printed it: %s', (_, text) => {
  it.each(COMMANDS)('%s', (command) => expect(cutLines(text, { origin: 'command', command })).toBe(0));

  it('a server of tools', () => expect(cutLines(text, { origin: 'unknown' })).toBe(0));
});

it.each(['markdown', 'prose'] as const)(
  'the answer of a search tool of a documentation server stays whole: %s',
  (form) => expect(cutLines(DOCUMENTS[form], { origin: 'search' })).toBe(0),
);

it('a very large document is cut like a large file', () => {
  const large = (hints: Hints) =>
    planPrune({ text: sourceFile(240), goal: 'Why is a voucher counted twice?', hints, limits }).cuts;
  expect(large({ origin: 'command', command: 'curl -s https://example.com/a.ts' }).length).toBeGreaterThan(0);
  expect(large({ origin: 'unknown' })).toEqual(large({ origin: 'read' }));
});

it('a question, or a requested cut, cuts a document all the same', () => {
  const hints = { origin: 'command', command: 'curl -s https://example.com/a.ts' } as const;
  expect(cutLines(sourceFile(60), { ...hints, question: true }, 'How is order 3 loaded?')).toBeGreaterThan(50);
  expect(planPrune({ text: sourceFile(60), goal: '', hints, limits, asked: true }).cuts.length).toBeGreaterThan(0);
});

describe('the output of a program is no document', () => {
  const command = (text: string): number => cutLines(text, { origin: 'command', command: './run' });

  it.each<[string, string]>([
    [
      'a log of key and value',
      lines(200, (i) => `time=2026-05-01T10:00:${10 + (i % 50)}Z level=info msg="request ${i} served" ms=${i % 37}`),
    ],
    ['a log of levels', lines(300, (i) => `INFO: request ${i} of ${word(i)} served in ${i % 37} ms`)],
    [
      'a test run',
      lines(200, (i) => `    ✔ keeps the ${word(i)} of each ${word(i * 5 + 1)} until the ${word(i + 2)} ends (${i}ms)`),
    ],
    ['a list of commits', lines(200, (i) => `${(0xabc1234 + i * 7919).toString(16)} ${sentence(i)}`)],
    [
      'JSON',
      JSON.stringify(
        Array.from({ length: 90 }, (_, id) => ({ id, name: word(id), state: 'paid', total: id * 3 })),
        null,
        2,
      ),
    ],
  ])('%s', (_, text) => expect(command(text)).toBeGreaterThan(20));

  it('a traceback that shows source', () => {
    const shown = sourceFile(12).replaceAll('\n', '\n    ');
    const text = `=================================== FAILURES ===================================\n${shown}\nsrc/orders.py:77: AssertionError\nE   AssertionError: assert 3 == 4\n${lines(30, (i) => `FAILED tests/test_orders.py::test_${i} - AssertionError: assert ${i} == 4`)}\n=== 30 failed in 1.20s ===`;
    expect(command(text)).toBeGreaterThan(20);
  });
});
