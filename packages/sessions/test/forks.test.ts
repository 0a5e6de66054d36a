import { mkdirSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { run } from '../../../test/cli/fake-io.ts';
import { tempFolder } from '../../../test/helpers/afterwards.ts';

const stamp = (second: number): string => new Date(Date.UTC(2026, 10, 20, 10, 0, second)).toISOString();
const nowMs = (): number => Date.UTC(2026, 10, 20, 12);

interface Request {
  readonly input: number;
  readonly output: number;
}

/** Lines of requests in a rollout of Codex, whose totals grow; `from` is the time of the first line in seconds. */
function requestLines(requests: readonly Request[], from: number): unknown[] {
  const total = { input_tokens: 0, output_tokens: 0 };
  return requests.flatMap(({ input, output }, i) => {
    total.input_tokens += input;
    total.output_tokens += output;
    const timestamp = stamp(from + i);
    const usage = { input_tokens: input, cached_input_tokens: 0, output_tokens: output };
    return [
      {
        timestamp,
        type: 'response_item',
        payload: { type: 'message', role: 'user', content: [{ type: 'input_text', text: `Step ${i}` }] },
      },
      {
        timestamp,
        type: 'response_item',
        payload: { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Done.' }] },
      },
      {
        timestamp,
        type: 'event_msg',
        payload: { type: 'token_count', info: { total_token_usage: { ...total }, last_token_usage: usage } },
      },
    ];
  });
}

const meta = (id: string, more: object = {}) => ({
  timestamp: stamp(0),
  type: 'session_meta',
  payload: { id, cwd: '/home/me/api', ...more },
});
const model = { timestamp: stamp(0), type: 'turn_context', payload: { model: 'gpt-5', cwd: '/home/me/api' } };

const OWN: readonly Request[] = [
  { input: 8_000, output: 100 },
  { input: 9_000, output: 110 },
  { input: 10_000, output: 120 },
];
const FURTHER: readonly Request[] = [{ input: 11_000, output: 130 }];
const BRANCH = (k: number): Request => ({ input: 12_000 + k, output: 140 });
const dollarsOf = (requests: readonly Request[]): number =>
  requests.reduce((sum, { input, output }) => sum + (input * 1.25 + output * 10) / 1e6, 0);

/** The dollars of a home with a session and others that repeat its beginning. */
async function dollars(
  forks: readonly ((id: string) => readonly unknown[])[],
  parentIsNewer: boolean,
): Promise<number> {
  const home = tempFolder();
  const write = (name: string, lines: readonly unknown[], second: number): void => {
    const path = join(home, '.codex/sessions/2026/11/20', `rollout-${name}.jsonl`);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, `${lines.map((line) => JSON.stringify(line)).join('\n')}\n`);
    const at = new Date(Date.UTC(2026, 10, 20, 10, 30, second));
    utimesSync(path, at, at);
  };
  write('parent', [meta('parent'), model, ...requestLines([...OWN, ...FURTHER], 0)], parentIsNewer ? 59 : 1);
  for (const [k, fork] of forks.entries()) {
    write(`fork-${k}`, [...fork(`fork-${k}`), model, ...requestLines([...OWN, BRANCH(k)], 600 + k * 60)], 10 + k);
  }
  const { code, out } = await run(['report', '--sessions', '--json'], { homeDir: home, cwd: home, clock: { nowMs } });
  expect(code).toBe(0);
  return (JSON.parse(out) as { report: { totals: { dollars: number } } }).report.totals.dollars;
}

const forked = (id: string) => [meta(id, { forked_from_id: 'parent' })];
const copied = (id: string) => [meta(id), meta('parent')];
const spawned = (id: string) => [
  meta(id, { source: { subagent: { thread_spawn: { parent_thread_id: 'parent', depth: 1 } } } }),
];
const forkOfFork = (id: string) => [
  meta(id, { forked_from_id: 'fork-0' }),
  meta('fork-0', { forked_from_id: 'parent' }),
  meta('parent'),
];

describe('requests that forks and sub-agents repeat from their parent', () => {
  it.each([
    ['a fork that names its parent', [forked]],
    ['a fork with the first line of its parent', [copied]],
    ['three sub-agents', [spawned, spawned, spawned]],
    ['a fork of a fork', [forked, forkOfFork]],
  ])('are billed once: %s', async (_, forks) => {
    const once = dollarsOf([...OWN, ...FURTHER, ...forks.map((_fork, k) => BRANCH(k))]);
    expect(await dollars(forks, false)).toBeCloseTo(once, 9);
    expect(await dollars(forks, true)).toBeCloseTo(once, 9);
  });

  it('are billed each if the sessions are independent', async () => {
    const independent = (id: string) => [meta(id)];
    expect(await dollars([independent], false)).toBeCloseTo(dollarsOf([...OWN, ...FURTHER, ...OWN, BRANCH(0)]), 9);
  });
});
