import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { limitReached, type Patience, patienceOf, within } from '../../src/core/decide/time-limits.ts';
import type { Dialect } from '../../src/wires/dialects/dialect.ts';
import { openaiChat } from '../../src/wires/dialects/openai-chat/dialect.ts';
import { chatBody, oneResult } from '../helpers/chat.ts';
import { openPipeline, openStore, type RewriterParts, verdicts } from '../helpers/rewriter.ts';
import { serverLog } from '../helpers/texts.ts';

const CHECKED: Dialect = { ...openaiChat, verifiesHistory: 'always' };
const BODY = chatBody(oneResult(serverLog(200)));

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** Makes the CPU time of this process and of this thread what a test says. */
function fakeCpu(): { ms: number } {
  const cpu = { ms: 0 };
  const usage = (before?: NodeJS.CpuUsage): NodeJS.CpuUsage => ({
    user: cpu.ms * 1000 - (before?.user ?? 0),
    system: 0,
  });
  vi.spyOn(process, 'cpuUsage').mockImplementation(usage);
  if ('threadCpuUsage' in process) vi.spyOn(process, 'threadCpuUsage' as 'cpuUsage').mockImplementation(usage);
  return cpu;
}

describe('the set of cut lines', () => {
  const rewrite = async (dialect: Dialect, parts: RewriterParts = {}) =>
    openPipeline({ store: openStore(), ...parts }).rewrite({ body: BODY, dialect });

  it.each([
    ['a wire without verified history', openaiChat],
    ['a wire with verified history', CHECKED],
  ])('is the same if the clock jumps by a minute at each reading, on %s', async (_name, dialect) => {
    const usual = await rewrite(dialect);
    expect(verdicts(usual)).toEqual(['cut']);
    let now = performance.now();
    vi.spyOn(performance, 'now').mockImplementation(() => (now += 60_000));
    const jumping = await rewrite(dialect);
    expect(jumping.body.equals(usual.body)).toBe(true);
    expect(jumping.fallbacks).toEqual([]);
  });

  it('does not depend on an earlier attempt that took too much CPU time', async () => {
    const store = openStore();
    const late = await rewrite(openaiChat, { store, timeoutMs: 0 });
    expect(verdicts(late)).toEqual(['timeout']);
    expect(late.fallbacks).toEqual(['timeout']);
    const other = chatBody(oneResult(serverLog(200), { id: 'call_2' }));
    const later = await openPipeline({ store }).rewrite({ body: other, dialect: openaiChat });
    expect(verdicts(later)).toEqual(['cut']);
  });
});

describe('the time limit of a text', () => {
  it('is CPU time: waiting does not count', () => {
    const cpu = fakeCpu();
    let now = performance.now();
    vi.spyOn(performance, 'now').mockImplementation(() => now);
    const isReached = limitReached({ cpuMs: 100 });
    now += 1;
    expect(isReached()).toBe(false);
    now += 60_000;
    cpu.ms += 99;
    expect(isReached()).toBe(false);
    cpu.ms += 1;
    expect(isReached()).toBe(true);
  });

  it('is wall-clock time if the caller set the limit', () => {
    let now = 1_000;
    vi.spyOn(performance, 'now').mockImplementation(() => now);
    const isReached = limitReached({ deadline: 1_500 });
    expect(isReached()).toBe(false);
    now = 1_501;
    expect(isReached()).toBe(true);
  });
});

describe('a request that waits for its decisions', () => {
  let cpu: { ms: number };
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    cpu = fakeCpu();
  });

  /** Intervals after which waiting for work without an end ended, if each used so much CPU time. */
  async function intervalsWaited(patience: Patience, cpuMs: number): Promise<number> {
    let isOver = false;
    void within(new Promise<never>(() => {}), patience, () => {}).then(() => {
      isOver = true;
    });
    for (let interval = 1; interval <= 20; interval++) {
      await vi.advanceTimersByTimeAsync(patience.intervalMs / 2);
      cpu.ms += cpuMs;
      await vi.advanceTimersByTimeAsync(patience.intervalMs / 2);
      if (isOver) return interval;
    }
    return Number.POSITIVE_INFINITY;
  }

  it('waits for one interval while the process does nothing, and for six while it works', async () => {
    expect(await intervalsWaited(patienceOf(10_000), 50)).toBe(1);
    expect(await intervalsWaited(patienceOf(10_000), 500)).toBe(6);
  });

  it('waits for 90 seconds if the provider verifies the history, whatever the setting', async () => {
    for (const timeoutMs of [10, 10_000]) {
      expect(patienceOf(timeoutMs, true)).toEqual({ intervalMs: 90_000, intervals: 1 });
    }
    expect(await intervalsWaited(patienceOf(10_000, true), 50)).toBe(1);
  });

  it('does not give up because the machine slept', async () => {
    const waiting = within(
      new Promise((resolve) => setTimeout(() => resolve('decided'), 10_001)),
      { intervalMs: 10_000, intervals: 1 },
      () => {},
    );
    await vi.advanceTimersByTimeAsync(5_000);
    const { now } = performance;
    const slept = vi.spyOn(performance, 'now').mockImplementation(() => now.call(performance) + 3_600_000);
    await vi.advanceTimersByTimeAsync(5_000);
    slept.mockRestore();
    await vi.advanceTimersByTimeAsync(1);
    expect(await waiting).toBe('decided');
  });
});
