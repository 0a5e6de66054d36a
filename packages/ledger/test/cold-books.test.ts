import dns from 'node:dns';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ColdStashReport } from 'mcp-pruner/core/ports/cold-report.ts';
import type { LedgerReport } from 'mcp-pruner/core/ports/ledger-report.ts';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { run } from '../../../test/cli/fake-io.ts';
import { tempFolder } from '../../../test/helpers/afterwards.ts';
import { json, startUpstream } from '../../../test/helpers/fake-upstream.ts';
import { markersIn } from '../../../test/helpers/markers.ts';
import { startProxy, type TestProxy } from '../../../test/helpers/proxy.ts';
import { manualClock } from '../../../test/helpers/rewriter.ts';
import { serverLog, sourceFile } from '../../../test/helpers/texts.ts';
import { FakeProvider, type Piece, type ProviderRules } from './fake-provider.ts';
import { MODEL, type Turn, WIRES, type WireForm } from './wire-forms.ts';

const MINUTE = 60_000;
const RATES = { input: 5, read: 0.5, output: 25 };
const AUTOMATIC = { ...RATES, automatic: true, minPrefix: 1_024, step: 128, write: RATES.input };
const OUTPUT = 320;
const CENT = 0.01;

/** A request after so many minutes; before it the proxy may be restarted, or lines of a result put aside recovered. */
type Event = number | 'restart' | 'recover';
const SCRIPT: readonly Event[] = [
  ...Array<number>(14).fill(1),
  ...([40, 1, 2, 'restart', 1, 1, 'recover', 1, 1, 1, 1, 1, 1, 1, 1, 1, 100, 1, 1, 'restart', 1] as const),
];

/** The pieces of a forwarded body, by a way of counting that is not the proxy's. */
function piecesOf(body: Buffer): Piece[] {
  const sent = JSON.parse(body.toString()) as Record<string, readonly unknown[]>;
  return (sent.messages ?? sent.input ?? sent.contents ?? []).map((message) => {
    const says = textsIn(message).join('\n');
    return { says, tokens: counted(says) };
  });
}

const counts = new Map<string, number>();

/** Tokens of a piece; most pieces are counted with each request. */
function counted(says: string): number {
  const tokens = counts.get(says) ?? 3 + Math.ceil(says.length / 5 + (says.match(/[^a-zA-Z\s]/g) ?? []).length / 3);
  counts.set(says, tokens);
  return tokens;
}

const CLEARED: Piece = { says: 'cleared', tokens: 8 };
const tokensOf = (pieces: readonly Piece[]): number => pieces.reduce((sum, { tokens }) => sum + tokens, 0);

function textsIn(value: unknown): string[] {
  if (value === null || typeof value !== 'object') return [String(value)];
  return Object.values(value).flatMap(textsIn);
}

const turnOf = (i: number): Turn =>
  i % 4 === 3 ? [`npm run job-${i}`, serverLog(120, i)] : [`cat src/part${i}.ts`, sourceFile(9, i)];

interface Scenario {
  readonly wire: WireForm;
  readonly rules: ProviderRules;
  /** `MCP_PRUNER_COLD_STASH`. */
  readonly setting: string;
  readonly script?: readonly Event[];
  /** Shorter results are never cut. */
  readonly minChars?: number;
  /** What the provider itself replaces in a prompt. */
  readonly clear?: (pieces: readonly Piece[]) => readonly Piece[];
}

/** Plays a script. @returns the bill, what the same requests would have cost as the client sent them, and the report */
async function play({ wire, rules, setting, script = SCRIPT, minChars = 1_000, clear }: Scenario) {
  const clock = manualClock();
  const [provider, whole] = [new FakeProvider(rules), new FakeProvider(rules)];
  const turns: Turn[] = [];
  const bodyOf = (): string => JSON.stringify(wire.body(turns, false));
  const upstream = await startUpstream((request, res, index) => {
    const pieces = piecesOf(request.body);
    const left = clear?.(pieces) ?? pieces;
    const cleared = tokensOf(pieces) - tokensOf(left);
    whole.request(MODEL, piecesOf(Buffer.from(bodyOf())), OUTPUT, clock.now);
    const { input, read, written } = provider.request(MODEL, left, OUTPUT, clock.now);
    const counts = { read: read ?? 0, written: written ?? 0, said: 20, thought: 300, index };
    const answer = wire.answer({ ...counts, fresh: (input ?? 0) - counts.read - counts.written });
    const applied_edits = [{ type: 'clear_tool_uses_20250919', cleared_input_tokens: cleared }];
    return json(res, 200, { model: MODEL, ...answer, ...(cleared > 0 && { context_management: { applied_edits } }) });
  });
  const dbPath = join(tempFolder(), 'store.db');
  const url = upstream.url.replace('127.0.0.1', 'api.anthropic.com');
  const env = {
    MCP_PRUNER_PRICES: pricesOf(rules),
    MCP_PRUNER_COLD_STASH: setting,
    MCP_PRUNER_MIN_PRUNE_CHARS: String(minChars),
    MCP_PRUNER_UPSTREAM_URL: url,
    MCP_PRUNER_ANTHROPIC_URL: url,
    MCP_PRUNER_GEMINI_URL: url.replace('/v1', ''),
  };
  let proxy: TestProxy = await startProxy(upstream, { env, dbPath, clock });
  let before = 0;
  for (const event of script) {
    if (event === 'restart') {
      await proxy.stop();
      before = upstream.requests.length;
      proxy = await startProxy(upstream, { env, dbPath, clock });
    } else if (event === 'recover') {
      const sent = piecesOf(upstream.last.body).map(({ says }) => says);
      const aside = markersIn(sent.join('\n')).find(({ reason }) => reason === 'mis de côté');
      if (aside) await proxy.recover(aside.pruneId, 1, 3);
    } else {
      // answers are noted a moment after they were given
      if (event > 2) await proxy.requestLines(upstream.requests.length - before);
      clock.now += event * MINUTE;
      turns.push(turnOf(turns.length));
      const headers = { 'content-type': 'application/json' };
      await (await fetch(`${proxy.url}${wire.path(false)}`, { method: 'POST', headers, body: bodyOf() })).text();
    }
  }
  await proxy.stop();
  const { out } = await run(['report', '--json'], {
    env: { ...env, MCP_PRUNER_DB_PATH: dbPath },
    clock: { nowMs: () => clock.now },
  });
  const report = JSON.parse(out) as LedgerReport & ColdStashReport;
  const sent = upstream.requests.map(({ body }) => body.toString());
  return { billed: provider.dollars, whole: whole.dollars, report, sent };
}

function pricesOf({ input, read, write, output, minPrefix, step, lifetimeMs }: ProviderRules): string {
  const path = join(tempFolder(), 'prices.toml');
  const row = { input, cache_read: read, cache_write_5m: write, output, min_prefix: minPrefix, cache_step: step };
  const fields = Object.entries({ ...row, cache_seconds: lifetimeMs / 1_000 }).map((field) => field.join(' = '));
  const about = [`model = "${MODEL}"`, 'provider = "acme"', 'day = "2026-11-23"', 'source = "made up"'];
  writeFileSync(path, ['[[price]]', ...about, ...fields].join('\n'));
  return path;
}

/** The name of the provider leads to this machine; caches of addresses on this machine have no clock. */
beforeEach(() => {
  const lookup = dns.lookup;
  const local = (name: string, ...rest: unknown[]): void =>
    Reflect.apply(lookup, dns, [name === 'api.anthropic.com' ? '127.0.0.1' : name, ...rest]);
  const spy = vi.spyOn(dns, 'lookup').mockImplementation(local as typeof dns.lookup);
  return () => spy.mockRestore();
});

interface Booked {
  readonly billed: number;
  readonly report: LedgerReport & ColdStashReport;
}

/** Whether the books hold: the bill, and what the provider would have asked for without what was put aside. */
function expectBooked({ billed, report }: Booked, without: number, grossWithout: number): void {
  const { conversations, results, recovered, usd } = report.cold_stash;
  const { dollars, gross } = report.totals;
  expect(dollars).toBeCloseTo(billed, 9);
  expect({ conversations, recovered, moments: report.cold_moments }).toEqual({
    ...{ conversations: 1, recovered: 1, moments: { pause: 2 } },
  });
  expect(results).toBeGreaterThan(10);
  expect(without - billed).toBeGreaterThan(0.15);
  // the tokens put aside are estimates
  const saved = without - billed;
  expect(Math.abs(usd / saved - 1)).toBeLessThan(0.08);
  expect(Math.abs((gross - grossWithout) / saved - 1)).toBeLessThan(0.08);
}

describe('stashed old results', () => {
  it('are booked beside cuts, as they were estimated without being put aside', async () => {
    const [wire, rules] = [WIRES.chat as WireForm, { ...AUTOMATIC, lifetimeMs: 5 * MINUTE }];
    const [on, off, measured] = [
      await play({ wire, rules, setting: 'on' }),
      await play({ wire, rules, setting: 'off' }),
      await play({ wire, rules, setting: 'measure' }),
    ];
    expect(off.report.totals.dollars).toBeCloseTo(off.billed, 9);
    expect(off.report.totals.gross).toBeGreaterThan(0.2);
    expectBooked(on, off.billed, off.report.totals.gross);
    expect(measured.billed).toBeCloseTo(off.billed, 9);
    const { conversations, results, tokens, usd } = on.report.cold_stash;
    expect(measured.report.cold_stash).toMatchObject({ conversations, results, tokens });
    expect(Math.abs(measured.report.cold_stash.usd - usd)).toBeLessThan(CENT);
  }, 300_000);

  it.each([
    ['responses', 'five minutes', 5],
    ['generateContent', 'five minutes', 5],
    ['chat', 'an hour, so that the first pause is guessed wrongly', 60],
  ])('are booked on %s if the provider keeps caches for %s', async (name, _, minutes) => {
    const wire = WIRES[name] as WireForm;
    const on = await play({
      wire,
      rules: { ...AUTOMATIC, lifetimeMs: minutes * MINUTE },
      setting: 'on',
      minChars: 1e6,
    });
    expectBooked(on, on.whole, 0);
  });
});

describe('context that the provider clears for the client', () => {
  it('is billed to the cent, and not reported as a saving of the proxy', async () => {
    let cleared = 0;
    const clear = (pieces: readonly Piece[]): readonly Piece[] => {
      if (pieces.length <= 2 * 29) return pieces;
      // after the question each turn has a call and its result; results go in groups of four, up to the newest twelve
      const results = Math.floor(((pieces.length - 1) / 2 - 12) / 4) * 4;
      const left = pieces.map((piece, i) => (i % 2 === 0 && i > 0 && i <= 2 * results ? CLEARED : piece));
      cleared = tokensOf(pieces) - tokensOf(left);
      return left;
    };
    const { billed, report, sent } = await play({
      ...{ wire: WIRES.messages as WireForm, setting: 'on', minChars: 1e6, clear },
      rules: { ...AUTOMATIC, automatic: false, step: 1, write: 6.25, lifetimeMs: 5 * MINUTE },
      script: [...Array<number>(29).fill(1), 7, 1, 'restart', 1, 1],
    });
    expect(cleared).toBeGreaterThan(10_000);
    expect(sent.filter((body) => body.includes('PRUNÉ'))).toEqual([]);
    expect(report.totals.dollars).toBeCloseTo(billed, 9);
    expect(report.totals.gross).toBeCloseTo(0, 9);
    expect(report.cold_stash).toMatchObject({ results: 0, usd: 0 });
  });
});
