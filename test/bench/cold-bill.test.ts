import { describe, expect, it } from 'vitest';
import { rowNameOf } from '../../bench/bill/agents.ts';
import { forwarderOf } from '../../bench/bill/forward.ts';
import { type Measured, measure } from '../../bench/bill/measure.ts';
import { SentTexts } from '../../bench/bill/sent-texts.ts';
import { callsIn, contentOf } from '../../bench/bill/shown.ts';
import { HEAD as HEADINGS, rowOf } from '../../bench/bill/sums.ts';
import { type Message, type Recording, requestTimes, type Usage } from '../../bench/recordings/conversation.ts';
import { FakeProvider, type Piece } from '../../packages/ledger/test/fake-provider.ts';
import { afterwards } from '../helpers/afterwards.ts';
import { sourceFile } from '../helpers/texts.ts';

const MINUTE = 60_000;
const START = Date.UTC(2026, 10, 20, 10);
const CHARS_PER_TOKEN = 4;
const HEAD: Piece = { says: 'system prompt and tools', tokens: 5_000 };
/** Of a provider that caches whole prompts only, so that after a change it writes their beginning again too. */
const SHORT_HEAD: Piece = { ...HEAD, tokens: 10 };
const CENT = 0.01;
const DOLLARS_PER_TOKEN = 5 / 1_000_000;

/** A call with its result; `minutes` after the answer before it, the result is there. */
interface Turn {
  /** Arguments of the call; default: the command. */
  readonly args?: object;
  readonly minutes: number;
  readonly command: string;
  readonly result: string;
}

const readings = (count: number, from = 0): Turn[] =>
  Array.from({ length: count }, (_, i) => ({
    ...{ minutes: 1, command: `cat src/part${from + i}.ts`, result: sourceFile(9, from + i) },
  }));
const later = (minutes: number, [first, ...rest]: readonly Turn[]): Turn[] =>
  first === undefined ? [] : [{ ...first, minutes }, ...rest];

/** A provider that keeps caches for so long; prices are relative to input. */
const providerOf = (minutes: number, writes = false): FakeProvider =>
  new FakeProvider({
    ...{ automatic: !writes, minPrefix: 0, step: 1, lifetimeMs: minutes * MINUTE },
    ...{ input: 1, read: 0.1, write: writes ? 1.25 : 1, output: writes ? 5 : 8 },
  });

const pieceOf = (says: string): Piece => ({ says, tokens: says.length / CHARS_PER_TOKEN });
const QUESTION = 'Mend the checkout.';
const DONE = 'Done.';
const argsOf = ({ command, args = { command } }: Turn): string => JSON.stringify(args);

/** A recorded session, billed by a provider that keeps caches for so long; Claude Code pays for writing to them. */
function sessionOf(turns: readonly Turn[], cacheMinutes = 5, agent = 'Codex'): Recording {
  const writes = agent === 'Claude Code';
  const provider = providerOf(cacheMinutes, writes);
  const pieces = [writes ? SHORT_HEAD : HEAD, pieceOf(QUESTION)];
  const [messages, times, usage]: [Message[], number[], Usage[]] = [[], [], []];
  let nowMs = START;
  const add = (message: Message): number => {
    times.push(nowMs);
    return messages.push(message) - 1;
  };
  const answer = (said: Message, piece: Piece): void => {
    const bill = provider.request('m', pieces, piece.tokens, nowMs);
    const [read, written, written1h] = [bill.read ?? 0, bill.written ?? 0, bill.written1h ?? 0];
    const fresh = (bill.input ?? 0) - read - written;
    const at = add({ role: 'assistant', ...said });
    usage.push({ at, fresh, read, written, written1h, output: piece.tokens });
  };
  add({ role: 'user', content: QUESTION });
  for (const [i, turn] of turns.entries()) {
    const said = pieceOf(`shell${argsOf(turn)}`);
    const call = { id: `c${i}`, type: 'function', function: { name: 'shell', arguments: argsOf(turn) } };
    answer({ content: '', tool_calls: [call] }, said);
    nowMs += turn.minutes * MINUTE;
    add({ role: 'tool', tool_call_id: `c${i}`, content: turn.result });
    pieces.push(said, pieceOf(turn.result));
  }
  answer({ content: DONE }, pieceOf(DONE));
  return { agent, name: 's', messages, times, usage, outputPrice: writes ? 5 : 8 };
}

async function measured(recording: Recording, env: Readonly<Record<string, string>> = {}): Promise<Measured> {
  const forwarder = await forwarderOf(env);
  afterwards(() => forwarder.close());
  return measure(recording, forwarder);
}

const COLD = { MCP_PRUNER_COLD_STASH: 'on' };

/** What the provider bills for the requests of a recording with these texts, in tokens of input. */
function billOf({ messages, ...recording }: Recording, texts: SentTexts, provider: FakeProvider, head = HEAD): number {
  const calledIn = (message: Message): string =>
    callsIn(message)
      .map(({ name, args }) => name + args)
      .join('');
  for (const { at, arrivedMs } of requestTimes({ messages, ...recording })) {
    const pieces = messages
      .slice(0, at)
      .map((message, i) =>
        pieceOf(message.role === 'assistant' ? calledIn(message) + contentOf(message) : texts.textAt(i, at)),
      );
    const said = messages[at] ?? {};
    provider.request('m', [head, ...pieces], pieceOf(calledIn(said) + contentOf(said)).tokens, arrivedMs);
  }
  return provider.dollars * 1_000_000;
}

const dollarsOf = (tokens: number): number => tokens * DOLLARS_PER_TOKEN;
const paused = (cacheMinutes?: number, ...after: readonly Turn[]): Recording =>
  sessionOf([...readings(14), ...later(40, readings(12, 14)), ...after], cacheMinutes);

describe('the bill of a recorded session with cold caches', () => {
  it.each([
    ['has expired', 5],
    ['is kept for an hour, so that the pause is guessed wrongly', 60],
  ])('is what a provider asks for whose cache %s', async (_, cacheMinutes) => {
    const recording = paused(cacheMinutes);
    const whole = new SentTexts(recording.messages);
    const cold = await measured(recording, COLD);
    expect(cold.sums.steps).toBe(1);
    expect(cold.bill.before).toBeCloseTo(billOf(recording, whole, providerOf(cacheMinutes)), 0);
    const asked = billOf(recording, cold.texts, providerOf(cacheMinutes));
    expect(dollarsOf(Math.abs(cold.bill.after - asked))).toBeLessThan(CENT / 10);
  });

  it('falls after a pause, by less if the cache was still warm', async () => {
    const savedOf = async (cacheMinutes: number): Promise<number> => {
      const { bill } = await measured(paused(cacheMinutes), COLD);
      return dollarsOf(bill.before - bill.after);
    };
    expect(await savedOf(5)).toBeGreaterThan(5 * CENT);
    expect(await savedOf(60)).toBeLessThan((await savedOf(5)) - 3 * CENT);
    const { bill, sums } = await measured(paused(5));
    expect([bill.after, sums.steps]).toEqual([bill.before, 0]);
  });

  it('is the same with and without stashing if no pause is long enough, or no times are recorded', async () => {
    const { times: _, ...untimed } = paused();
    for (const recording of [sessionOf(readings(26)), untimed]) {
      const [without, cold] = [await measured(recording), await measured(recording, COLD)];
      expect(cold.sums).toEqual(without.sums);
      expect(cold.sums.untimed).toBe(recording === untimed ? 1 : 0);
    }
  });

  it('includes the recovery of a stashed result that a later edit needs', async () => {
    const old = readings(1)[0]?.result.split('\n').slice(3, 6).join('\n') ?? '';
    const edit = { minutes: 1, command: `edit`, result: 'done', args: { old_string: old, new_string: 'x' } };
    const [without, cold] = [await measured(paused(5, edit)), await measured(paused(5, edit), COLD)];
    expect([without.sums.recoveries, without.sums.recoveryCost]).toEqual([0, 0]);
    expect(cold.sums).toMatchObject({ used: { edits: 1 }, kept: { edits: 0 }, recoveries: 1 });
    const context = cold.bill.peakAfter * 0.1;
    expect(cold.sums.recoveryCost).toBeGreaterThan(context);
    expect(cold.sums.recoveryCost).toBeLessThan(context + 2_000);
    const column = (name: string): number => Number(rowOf('', [cold.sums])[HEADINGS.indexOf(name)]);
    expect(column('with recoveries')).toBeGreaterThan(column('real bill'));
    expect(column('a session')).toBe(1);
  });

  it('shows the facts that an answer needed, in the form its own request contained', async () => {
    const [first] = readings(1);
    const quoted = first?.result.split('\n')[3] ?? '';
    const early = { minutes: 1, command: 'edit', result: 'done', args: { old_string: quoted, new_string: 'x' } };
    const turns = [...readings(14), early, ...later(40, readings(12, 14))];
    const cold = await measured(sessionOf(turns), COLD);
    expect(cold.sums).toMatchObject({ steps: 1, recoveries: 0, used: { edits: 1 }, kept: { edits: 1 } });
  });

  it('can be lowered further by a context budget', async () => {
    const turns = readings(36).map((turn, i) => ({ ...turn, result: sourceFile(34, i) }));
    const recording = sessionOf([...turns.slice(0, 14), ...later(40, turns.slice(14))]);
    const budget = { MCP_PRUNER_CONTEXT_BUDGET_TOKENS: '90000' };
    const [cold, both] = [await measured(recording, COLD), await measured(recording, { ...COLD, ...budget })];
    expect(cold.bill.peakAfter).toBeGreaterThan(100_000);
    expect(both.bill.peakAfter).toBeLessThan(cold.bill.peakAfter);
    expect(both.sums.steps).toBeGreaterThan(cold.sums.steps);
    expect(both.sums.compactionsAfter[0]).toBeLessThanOrEqual(cold.sums.compactionsAfter[0] ?? 0);
  });
});

describe('a recorded session whose model checks the history', () => {
  const withModel = (recording: Recording, agent: string, model: string): Recording => {
    return { ...recording, agent, usage: recording.usage?.map((usage) => ({ ...usage, model })) ?? [] };
  };

  it.each([
    ['Codex', 'gpt-6.2-sol', 'Codex, history checked', 0],
    ['Codex', 'gpt-6.1-sol', 'Codex', 1],
    ['pi', 'claude-opus-5', 'pi, Claude', 0],
    ['pi', 'gpt-5.1', 'pi', 1],
    ['Copilot CLI', 'claude-opus-5', 'Copilot CLI', 1],
  ])('is treated as the product treats it, in a row of its own: %s with %s', async (agent, model, row, steps) => {
    const turns = [...readings(16), ...later(40, readings(4, 16))];
    const recording = withModel(sessionOf(turns), agent, model);
    expect(rowNameOf(recording)).toBe(row);
    expect((await measured(recording, COLD)).sums.steps).toBe(steps);
  });
});

describe('a recorded session of Claude Code', () => {
  it('is unchanged after a pause, because its history is checked', async () => {
    const { sums, bill } = await measured(
      sessionOf([...readings(30), ...later(10, readings(5, 30))], 5, 'Claude Code'),
      COLD,
    );
    expect([sums.steps, bill.after]).toEqual([0, bill.before]);
  });
});
