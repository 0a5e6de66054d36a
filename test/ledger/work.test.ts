import { describe, expect, it } from 'vitest';
import { partsOf } from '../../src/cli/report/words.ts';
import { readReport } from '../../src/ledger/ledger.ts';
import { workOf } from '../../src/ledger/work.ts';
import { json, startUpstream } from '../helpers/fake-upstream.ts';
import { messagesBody, toolResult, toolUse, type WireMessage } from '../helpers/messages.ts';
import { startProxy } from '../helpers/proxy.ts';
import { openStore } from '../helpers/rewriter.ts';

const NOT_FOUND = '<tool_use_error>String to replace not found in file.</tool_use_error>';
const EDIT = { file_path: 'a.ts', old_string: 'a', new_string: 'b' };

/** A conversation by its steps: what the user says, or a call with its answer. */
function conversation(...steps: readonly (string | readonly [string, object, string])[]): WireMessage[] {
  return steps.flatMap((step, i): WireMessage[] =>
    typeof step === 'string'
      ? [{ role: 'user', content: [{ type: 'text', text: step }] }]
      : [
          { role: 'assistant', content: [toolUse(`t${i}`, step[0], step[1])] },
          { role: 'user', content: [toolResult(`t${i}`, step[2])] },
        ],
  );
}

const said = (text: string): WireMessage => ({ role: 'assistant', content: [{ type: 'text', text }] });

/** Sends the growing requests of a conversation, the third one twice, as a client that retries. */
async function play(messages: readonly WireMessage[], env: Readonly<Record<string, string>> = {}) {
  const anthropic = await startUpstream((_request, res) => {
    const usage = { input_tokens: 1_000, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 9 };
    json(res, 200, { type: 'message', role: 'assistant', model: 'claude-opus-5', content: [], usage });
  });
  const url = `http://127.0.0.1:${anthropic.port}/v1`;
  const proxy = await startProxy(anthropic, { env: { MCP_PRUNER_ANTHROPIC_URL: url, ...env } });
  const ends = messages.flatMap(({ role }, i) => (role === 'user' ? [i + 1] : []));
  for (const end of [...ends.slice(0, 3), ...ends.slice(2)]) {
    const body = messagesBody(messages.slice(0, end), { model: 'claude-opus-5' });
    await (
      await fetch(`${proxy.url}/v1/messages`, { method: 'POST', headers: { 'content-type': 'application/json' }, body })
    ).text();
  }
  await proxy.stop();
  return openStore(proxy.dbPath).ledger;
}

const STEPS = conversation(
  'please fix the parser',
  ['Edit', EDIT, NOT_FOUND],
  ['Read', { file_path: 'a.ts' }, 'the file'],
  ['Edit', EDIT, 'The file a.ts has been updated.'],
  ['Bash', { command: 'npm test' }, 'Tests  1 failed | 2 passed (3)'],
  ['Edit', { ...EDIT, old_string: 'c' }, 'The file a.ts has been updated.'],
  ['Bash', { command: 'npm test' }, 'Tests  3 passed (3)'],
  ['mcp__pruner__recover_text', { prune_id: 'prn_x' }, 'raw lines'],
);
const WHOLE = [...STEPS, said('Done.'), ...conversation('No, that is the wrong parser.')];

describe('the signs of work', () => {
  it('are counted per conversation: failed edits, repeated calls, recoveries, tests and corrections', async () => {
    const ledger = await play(WHOLE);
    const [one] = await ledger.conversations({ sinceMs: 0, limit: 9 });
    expect(one).toMatchObject({
      ...{ turns: 10, userMessages: 2, corrections: 1, calls: 7, callsAgain: 2, recoveries: 1 },
      ...{ edits: 3, failedEdits: 1, redTests: 1, turnedGreen: 1, compactions: 0 },
    });
    const report = await readReport(ledger, { sinceDay: '2020-01-01' });
    const shown = partsOf(report).find(({ title }) => title === 'How the work goes')?.rows ?? [];
    expect(shown.find(([name]) => name === 'Edits that did not find their text')).toEqual([
      ...[
        'Edits that did not find their text',
        '1 of 3',
        '33.3 %',
        'too few to tell',
        '-',
        '-',
        '-',
        'too few to tell',
      ],
    ]);
    expect(report.work.find(({ name }) => name === 'failedEdits')).toMatchObject({
      pruned: { part: 1, whole: 3, rate: 1 / 3, interval: null },
      control: { part: 0, whole: 0, rate: null },
      difference: null,
    });
  });

  it('are counted the same without pruning, and exclude corrections if those are switched off', async () => {
    const ledger = await play(WHOLE, { MCP_PRUNER_HOLDOUT: '1', MCP_PRUNER_CORRECTIONS: 'false' });
    const [one] = await ledger.conversations({ sinceMs: 0, limit: 9 });
    expect(one).toMatchObject({
      ...{ arm: 'control', userMessages: 2, corrections: 0, calls: 7, callsAgain: 2, recoveries: 1 },
      ...{ edits: 3, failedEdits: 1, redTests: 1, turnedGreen: 1 },
    });
  });

  it('have intervals that find a difference only if there is one', () => {
    const some = (arm: 'pruned' | 'control', failing: number) =>
      Array.from({ length: 120 }, (_, i) => ({
        ...{ arm, turns: 10, compactions: 0, userMessages: 1, edits: 5 + (i % 4) },
        failedEdits: i % 10 < failing ? 2 : 0,
      }));
    const measured = (pruned: number, control: number) =>
      workOf([...some('pruned', pruned), ...some('control', control)]).find(({ name }) => name === 'failedEdits');
    const worse = measured(6, 2);
    expect(worse?.pruned.rate).toBeCloseTo(0.185, 2);
    expect(worse?.pruned.interval?.[0]).toBeGreaterThan(worse?.control.interval?.[1] ?? 1);
    expect(worse?.difference?.interval?.[0]).toBeGreaterThan(0);
    const alike = measured(4, 4);
    expect(alike?.difference?.interval?.[0]).toBeLessThan(0);
    expect(alike?.difference?.interval?.[1]).toBeGreaterThan(0);
  });

  it('have no interval for rare signs', () => {
    const few = Array.from({ length: 200 }, (_, i) => ({
      ...{ arm: i % 2 === 0 ? ('pruned' as const) : ('control' as const), turns: 3, compactions: 0 },
      ...{ userMessages: 1, edits: 4, failedEdits: i === 0 ? 1 : 0 },
    }));
    const [edits] = workOf(few);
    expect(edits).toMatchObject({ name: 'failedEdits', pruned: { interval: null }, difference: null });
  });
});
