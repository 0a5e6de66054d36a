import { describe, expect, it } from 'vitest';
import { run } from '../../src/base/work.ts';
import { decisionKey, type Job } from '../../src/core/decide/decision.ts';
import { type Decided, DecisionMaker } from '../../src/core/decide/decision-maker.ts';
import { textHash } from '../../src/core/hash.ts';
import type { Decision, LineScorer, Scored, ScoreRequest, Store } from '../../src/core/ports.ts';
import { openSqliteStore } from '../../src/store/sqlite.ts';
import { afterwards, tempFolder } from '../helpers/afterwards.ts';
import { decisionCache, openPruner } from '../helpers/rewriter.ts';
import { serverLog } from '../helpers/texts.ts';

const clock = { nowMs: () => 1_700_000_000_000 };
const TTL_MS = 7 * 24 * 3_600_000;

function openStore(path = `${tempFolder()}/store.db`): Store {
  const store = openSqliteStore({ path, clock, ttlMs: TTL_MS, maxBytes: 2 ** 30, maxEvents: 100 });
  afterwards(() => store.close());
  return store;
}

/** A backend that says what the test wants. */
class FakeScorer implements LineScorer {
  readonly name: string;
  readonly asked: ScoreRequest[] = [];
  readonly #answer: (request: ScoreRequest) => Promise<Scored> | Scored;

  constructor(answer: (request: ScoreRequest) => Promise<Scored> | Scored, name = 'fake') {
    this.name = name;
    this.#answer = answer;
  }

  async score(request: ScoreRequest): Promise<Scored> {
    this.asked.push(request);
    return this.#answer(request);
  }
}

/** Lines from `from` to `to` must stay, the others are noise. */
function keeping(from: number, to: number, lines: number): Scored {
  const scores = Float64Array.from({ length: lines }, (_, i) => (i + 1 >= from && i + 1 <= to ? 1 : 0));
  return { scores, warnings: [], stats: { backend: 'fake' } };
}

const FAILED: Scored = {
  scores: null,
  warnings: ['fake_error', 'fake_http_error'],
  stats: { backend: 'fake', fake_http_status: 500 },
};

function jobOf(text: string, more: Partial<Job> = {}): Job {
  return {
    text,
    textHash: textHash(text),
    goal: 'why did the payment fail?',
    hints: { origin: 'command' },
    limits: { maxPruneRatio: 0.9, minKeepLines: 10 },
    tool: 'bash',
    caller: 'proxy',
    ...more,
  };
}

function makerOf(store: Store, scorer?: LineScorer, timeoutMs = 10_000): DecisionMaker {
  return new DecisionMaker({ decisionCache: decisionCache(store, clock), timeoutMs, ...(scorer && { scorer }) });
}

function isCut(decision: Decision | null | undefined, line: number): boolean {
  return decision?.cuts.some(({ startLine, endLine }) => startLine <= line && line <= endLine) ?? false;
}

/** Decisions as they are once they are stored. */
async function decideDurably(maker: DecisionMaker, jobs: readonly Job[]): Promise<Decided> {
  const decided = await run(maker.decideAll(jobs));
  const { instead } = await run(maker.makeDurable(decided.fresh, [], ''));
  return { ...decided, decisions: decided.decisions.map((made) => instead.get(made.key) ?? made) };
}

describe('a decision with a backend', () => {
  const text = serverLog(200);

  it('follows the backend, and has its own key', async () => {
    const store = openStore();
    const scorer = new FakeScorer(() => keeping(80, 90, 200));
    const alone = (await decideDurably(makerOf(store), [jobOf(text)])).decisions[0];
    const { decisions, fallbacks } = await decideDurably(makerOf(store, scorer), [jobOf(text)]);
    expect(fallbacks).toEqual([]);
    for (let line = 80; line <= 90; line++) expect(isCut(decisions[0], line)).toBe(false);
    expect(isCut(alone, 85)).toBe(true);
    expect(decisions[0]?.key).toBe(decisionKey(jobOf(text), 'fake'));
    expect(decisions[0]?.key).not.toBe(alone?.key);
    expect(alone?.key).toBe(decisionKey(jobOf(text)));
  });

  it('is the engine’s own if the backend fails, and is replayed from then on', async () => {
    const store = openStore();
    const alone = (await decideDurably(makerOf(store), [jobOf(text)])).decisions[0];
    const failed = await decideDurably(makerOf(store, new FakeScorer(() => FAILED)), [jobOf(text)]);
    expect(failed.fallbacks).toEqual(['fake_http_error']);
    expect(failed.decisions[0]?.cuts).toEqual(alone?.cuts);
    const recovered = new FakeScorer(() => keeping(80, 90, 200));
    const replayed = await decideDurably(makerOf(store, recovered), [jobOf(text)]);
    expect(replayed.decisions[0]).toEqual(failed.decisions[0]);
    expect(recovered.asked).toEqual([]);
  });

  it('is the one stored first if two processes decide at the same time', async () => {
    const path = `${tempFolder()}/store.db`;
    let bothAsked = 0;
    const meet = async (scored: Scored): Promise<Scored> => {
      bothAsked++;
      while (bothAsked < 2) await new Promise((resume) => setImmediate(resume));
      return scored;
    };
    const makers = [keeping(80, 90, 200), keeping(30, 40, 200), FAILED].map((scored) =>
      makerOf(openStore(path), new FakeScorer(() => meet(scored))),
    );
    const decided = await Promise.all(makers.map((maker) => decideDurably(maker, [jobOf(text)])));
    const cuts = decided.map(({ decisions }) => JSON.stringify(decisions[0]?.cuts));
    expect(new Set(cuts).size).toBe(1);
    const again = await Promise.all(makers.map((maker) => decideDurably(maker, [jobOf(text)])));
    expect(again.map(({ decisions }) => JSON.stringify(decisions[0]?.cuts))).toEqual(cuts);
  });

  it('is made without the backend if time runs out before its call', async () => {
    const slow = new FakeScorer(async ({ timeoutMs }) => {
      await new Promise((resume) => setTimeout(resume, timeoutMs + 5)); // timers drop fractions of a millisecond
      return FAILED;
    });
    const jobs = Array.from({ length: 9 }, (_, i) => jobOf(serverLog(120, i)));
    const { decisions, fallbacks } = await run(makerOf(openStore(), slow, 1_500).decideAll(jobs));
    expect(slow.asked).toHaveLength(4);
    expect(fallbacks.filter((reason) => reason === 'backend_not_asked')).toHaveLength(5);
    expect(decisions.every((decision) => decision !== null)).toBe(true);
  });

  it('is made without a call if the text stays whole anyway', async () => {
    const scorer = new FakeScorer(() => FAILED);
    await makerOf(openStore(), scorer).decideAll([
      jobOf(text, { keepWhole: 'reread' }),
      jobOf(serverLog(9)),
      jobOf(text, { limits: { maxPruneRatio: 0, minKeepLines: 0 } }),
    ]);
    expect(scorer.asked).toEqual([]);
  });

  it('sends distinct lines in order, and the kind of the text', async () => {
    const scorer = new FakeScorer(() => FAILED);
    await decideDurably(makerOf(openStore(), scorer), [jobOf(text)]);
    const [request] = scorer.asked;
    expect(request?.sourceType).toBe('logs');
    expect(request?.timeoutMs).toBeLessThanOrEqual(8_000);
    const sample = request?.sample(20) ?? [];
    expect(sample).toHaveLength(20);
    expect(new Set(sample).size).toBe(20);
    expect([...sample]).toEqual([...sample].sort((a, b) => a - b));
    expect(request?.sample(1_000)).toHaveLength(200);
  });
});

describe('prune_text with a backend', () => {
  const text = serverLog(200);
  const input = {
    text,
    goalHint: 'why did the payment fail?',
    sourceType: 'logs' as const,
    options: { maxPruneRatio: 0.9, minKeepLines: 10, timeoutMs: 10_000, annotateLines: false, includeMarkers: true },
  };
  const prunerOf = (scorer?: LineScorer) => openPruner(openStore(), scorer && { scorer });

  it("passes on the backend's messages without treating them as faults", async () => {
    const scored = { ...keeping(80, 90, 200), warnings: ['cache_hit'], stats: { backend: 'fake', fake_cached: true } };
    const { annotations, stats, warnings } = await prunerOf(new FakeScorer(() => scored)).pruneText(input);
    expect(annotations.length).toBeGreaterThan(0);
    expect(warnings).toEqual(['cache_hit']);
    expect(stats.usedFallback).toBe(false);
    expect(stats.extra).toMatchObject({ backend: 'fake', fake_cached: true });
  });

  it('gives the same result as the engine alone if the backend fails', async () => {
    const alone = await prunerOf().pruneText(input);
    const failed = await prunerOf(new FakeScorer(() => FAILED)).pruneText(input);
    expect(failed.prunedText).toBe(alone.prunedText);
    expect(failed.pruneId).toBe(alone.pruneId);
    expect(failed.warnings).toEqual(['fake_error', 'fake_http_error']);
    expect(failed.stats.usedFallback).toBe(true);
    expect(alone.stats.extra).toEqual({});
  });

  it("names its own fault before the backend's messages", async () => {
    const pruner = prunerOf(new FakeScorer(() => FAILED));
    const { prunedText, warnings } = await pruner.pruneText({
      ...input,
      options: { ...input.options, minKeepLines: 1_000 },
    });
    expect(prunedText).toBe(text);
    expect(warnings[0]).toBe('constraints_unmet');
  });

  it('recognises the source type if none is given', async () => {
    const scorer = new FakeScorer(() => FAILED);
    const { sourceType: _, ...unnamed } = input;
    await prunerOf(scorer).pruneText(unnamed);
    expect(scorer.asked[0]?.sourceType).toBe('logs');
  });
});

describe('recover', () => {
  it('refuses ranges that add up to far more than the text, and reports its length', async () => {
    const store = openStore();
    const pruner = openPruner(store, { maxInputChars: 1e7 });
    const text = `${'x'.repeat(999)}\n`.repeat(1_000);
    const { pruneId } = await pruner.pruneText({
      text,
      goalHint: 'g',
      sourceType: 'docs',
      options: { maxPruneRatio: 0.5, minKeepLines: 1, timeoutMs: 10_000, annotateLines: false, includeMarkers: true },
    });
    const all = { startLine: 1, endLine: 2 ** 40 };
    const four = await pruner.recover({ pruneId, ranges: Array(4).fill(all), numbered: false });
    expect(four.length).toBe(4 * text.length - 1);
    await expect(pruner.recover({ pruneId, ranges: Array(5).fill(all), numbered: false })).rejects.toMatchObject({
      code: 'invalid_range',
      details: { prune_id: pruneId, hint: expect.stringContaining('1000 lines') },
    });
  });

  it('suggests an alternative to repeating the call', async () => {
    const store = openStore();
    const pruner = openPruner(store);
    const ask = () => pruner.recover({ pruneId: 'prn_0123456789AB', ranges: [], numbered: false });
    const hint = expect.stringMatching(/do not retry.*read the file again or run the command again/i);
    await expect(ask()).rejects.toMatchObject({ code: 'prune_id_not_found', details: { hint } });
    await store.close();
    await expect(ask()).rejects.toMatchObject({ code: 'recovery_unavailable', details: { hint } });
  });
});
