import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { formatMarker } from 'mcp-pruner/engine/text/marker.ts';
import { describe, expect, it, vi } from 'vitest';
import { run } from '../../../test/cli/fake-io.ts';
import { tempFolder } from '../../../test/helpers/afterwards.ts';
import { serverLog } from '../../../test/helpers/texts.ts';
import type { PastLimit, SessionsReport } from '../src/report/past-report.ts';
import { Rehearsal } from '../src/report/rehearsal.ts';
import { sessionsText } from '../src/report/text.ts';
import { writeTwoTasks } from './two-tasks.ts';

const AT = '2026-11-20T10:00:00.000Z';

function write(home: string, path: string, lines: readonly unknown[]): void {
  const file = join(home, path);
  mkdirSync(dirname(file), { recursive: true });
  // a session that goes on: its last line is not whole yet
  writeFileSync(file, `${lines.map((line) => JSON.stringify(line)).join('\n')}\n{"type":"us`);
}

/** Three requests; the model's messages come in a line for each block, as Claude Code writes them. */
function claudeLines(): unknown[] {
  const about = { isSidechain: false, cwd: '/home/me/shop', sessionId: 's', version: '2.1.205', timestamp: AT };
  const user = (content: unknown) => ({ ...about, type: 'user', message: { role: 'user', content } });
  const said = (id: string, block: unknown, read: number, written: number) => ({
    ...about,
    type: 'assistant',
    requestId: `req_${id}`,
    message: {
      id,
      role: 'assistant',
      model: 'claude-opus-5',
      content: [block],
      usage: {
        input_tokens: 2,
        cache_read_input_tokens: read,
        cache_creation_input_tokens: written,
        cache_creation: { ephemeral_5m_input_tokens: written, ephemeral_1h_input_tokens: 0 },
        output_tokens: 80,
      },
    },
  });
  const call = (id: string) => ({ type: 'tool_use', id, name: 'Bash', input: { command: `npm start ${id}` } });
  const result = (id: string) => [{ tool_use_id: id, type: 'tool_result', content: serverLog(900) }];
  return [
    { type: 'file-history-snapshot', snapshot: {} },
    user('Why does the checkout fail? Find the failing payment.'),
    said('m1', { type: 'text', text: 'I look at the log.' }, 0, 15_000),
    said('m1', call('t1'), 0, 15_000),
    user(result('t1')),
    said('m2', call('t2'), 15_000, 40_000),
    user(result('t2')),
    said('m3', { type: 'text', text: 'It is the payment service.' }, 55_000, 40_000),
  ];
}

/** A session of 20 requests with 6,000,000 characters each. */
function longLines(): unknown[] {
  const about = { isSidechain: false, cwd: '/home/me/shop', sessionId: 'long', version: '2.1.332', timestamp: AT };
  const usage = {
    input_tokens: 0,
    cache_read_input_tokens: 800_000,
    cache_creation_input_tokens: 50,
    output_tokens: 9,
  };
  const words = 'Go on. '.repeat(860_000);
  return [words, ...Array<string>(19).fill('Go on.')].flatMap((content, i) => {
    const message = { id: `l${i}`, role: 'assistant', model: 'claude-opus-5', content: 'Yes.', usage };
    return [
      { ...about, type: 'user', message: { role: 'user', content } },
      { ...about, type: 'assistant', requestId: `long${i}`, message },
    ];
  });
}

function codexLines(): unknown[] {
  const line = (type: string, payload: unknown) => ({ timestamp: AT, type, payload });
  const item = (payload: unknown) => line('response_item', payload);
  const bill = (input: number, cached: number) =>
    line('event_msg', {
      type: 'token_count',
      info: {
        total_token_usage: { input_tokens: input + 1 },
        last_token_usage: { input_tokens: input, cached_input_tokens: cached, output_tokens: 50 },
      },
    });
  return [
    line('session_meta', { id: 'x', cwd: '/home/me/api', cli_version: '0.65.0' }),
    line('turn_context', { model: 'gpt-5-codex', cwd: '/home/me/api' }),
    item({ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Why does the server fail?' }] }),
    item({ type: 'reasoning', encrypted_content: 'x' }),
    item({ type: 'function_call', call_id: 'c1', name: 'shell', arguments: '{"command":["npm","start"]}' }),
    bill(9_000, 0),
    item({ type: 'function_call_output', call_id: 'c1', output: serverLog(900) }),
    item({ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'The payment fails.' }] }),
    bill(49_000, 8_960),
    bill(49_000, 8_960),
  ];
}

const nowMs = (): number => Date.parse(AT) + 3_600_000;

interface Printed {
  readonly simulated: boolean;
  readonly thresholds: SessionsReport['thresholds'];
  readonly files: number;
  readonly skipped: number;
  readonly throughProxy: number;
  readonly measured: boolean;
  readonly agents: object;
  readonly report: {
    readonly notes: readonly string[];
    readonly totals: Readonly<Record<string, number>>;
    readonly projects: readonly { readonly project: string }[];
    readonly misses: SessionsReport['report']['misses'];
  };
}

async function printed(home: string, ...more: string[]): Promise<Printed> {
  const { code, out, err } = await run(['report', '--sessions', '--json', ...more], {
    homeDir: home,
    cwd: home,
    clock: { nowMs },
  });
  expect([code, err]).toEqual([0, '']);
  return JSON.parse(out) as Printed;
}

const OPUS = (6 * 5 + 95_000 * 6.25 + 70_000 * 0.5 + 240 * 25) / 1_000_000;

describe('report --sessions', () => {
  it('reports the dollars of finished sessions without any configuration', async () => {
    const home = tempFolder();
    write(home, '.claude/projects/-home-me-shop/s.jsonl', claudeLines());
    write(home, '.codex/sessions/2026/11/20/rollout-x.jsonl', codexLines());
    const { files, skipped, agents, report } = await printed(home);
    expect([files, skipped, agents]).toEqual([2, 0, { 'Claude Code': 3, Codex: 2 }]);
    const { totals, projects } = report;
    const codex = ((9_000 + 40_040) * 1.25 + 8_960 * 0.125 + 100 * 10) / 1_000_000;
    expect(totals.dollars).toBeCloseTo(OPUS + codex, 9);
    expect(totals.dollarsWithout).toBe(totals.dollars);
    expect(totals.dollarsWith).toBeLessThan(0.7 * (totals.dollars ?? 0));
    expect(totals.dollarsWith).toBeGreaterThan(0);
    expect(totals.saved).toBeCloseTo((totals.dollars ?? 0) - (totals.dollarsWith ?? 0), 9);
    expect(totals.removed).toBeGreaterThan(totals.removedNew ?? 0);
    expect(totals.removedNew).toBeGreaterThan(10_000);
    expect(projects.map(({ project }) => project).sort()).toEqual(['api', 'shop']);
  });

  it('simulates what thresholds and seams would have cost, and names the cheapest with its price in compactions', async () => {
    const home = tempFolder();
    writeTwoTasks(home, AT);
    const { simulated, thresholds, report } = await printed(home);
    expect(simulated).toBe(true);
    expect(thresholds.map(({ tokens }) => tokens)).toEqual([60_000, 100_000, 150_000, 200_000, 'client', 'seam']);
    const of = (tokens: unknown) => thresholds.find((one) => one.tokens === tokens);
    expect(of('client')).toMatchObject({ share: 1, compactions: 0 });
    expect(of('client')?.usd).toBeCloseTo(report.totals.dollars ?? 0, 9);
    expect(of('seam')).toMatchObject({ compactions: 6 });
    expect(of(60_000)?.compactions).toBeGreaterThan(of(150_000)?.compactions ?? 0);
    // a batch costs half, with any rule
    const batch = tempFolder();
    writeTwoTasks(batch, AT, { service_tier: 'batch' });
    const halves = (await printed(batch)).thresholds;
    for (const [i, { usd }] of halves.entries()) expect(usd).toBeCloseTo((thresholds[i]?.usd ?? 0) / 2, 9);
    for (const { usd, share } of thresholds) expect(share).toBeCloseTo(usd / (of('client')?.usd ?? 0), 9);
    const worse = (await printed(home, '--pessimistic')).thresholds;
    for (const [i, { tokens, usd }] of worse.entries())
      if (tokens === 60_000 || tokens === 'seam') expect(usd).toBeGreaterThan(thresholds[i]?.usd ?? 0);
    const { out } = await run(['report', '--sessions'], { homeDir: home, cwd: home, clock: { nowMs } });
    expect(out).toMatch(/where a task ends +\$[\d.]+ +[\d.]+ % +6\n/);
    expect(out.replaceAll(/\s+/g, ' ')).toMatch(
      /Compacting at \d+k tokens would have cost \$[\d.]+ instead of \$[\d.]+, for \d+ compactions \(simulated\): mcp-pruner setup <agent> --compact-at \d+k/,
    );
  });

  it('runs no text of a month of long sessions through the pruner unless asked, with the same bill', async () => {
    const home = tempFolder();
    write(home, '.claude/projects/-home-me-shop/s.jsonl', claudeLines());
    writeTwoTasks(home, AT);
    const pruned = vi.spyOn(Rehearsal.prototype, 'request');
    const few = await printed(home);
    expect([few.measured, pruned.mock.calls.length]).toEqual([true, 273]);
    write(home, '.codex/sessions/2026/11/20/rollout-x.jsonl', codexLines());
    write(home, '.claude/projects/-home-me-shop/long.jsonl', longLines());
    pruned.mockClear();
    const many = await printed(home);
    expect([many.measured, pruned.mock.calls.length]).toEqual([false, 0]);
    const unknown = { dollarsWith: null, saved: null, removed: null, removedNew: null };
    for (const totals of [many.report.totals, ...many.report.projects]) expect(totals).toMatchObject(unknown);
    expect(few.report.totals).toMatchObject({ saved: expect.any(Number), dollarsWith: expect.any(Number) });
    const { out } = await run(['report', '--sessions'], { homeDir: home, cwd: home, clock: { nowMs } });
    expect(out).toContain('with --cuts: what pruning would have saved, in some minutes');
    expect(out).not.toMatch(/with pruning|saved \(|requests +spent +saved/);
    expect(out).toMatch(/Compacting at \d+k tokens would have cost/);
    expect(pruned.mock.calls.length).toBe(0);
    const asked = await printed(home, '--cuts');
    expect([asked.measured, pruned.mock.calls.length]).toEqual([true, 295]);
    expect(asked.thresholds).toEqual(many.thresholds);
    for (const field of ['dollars', 'requests', 'fresh', 'read', 'output'])
      expect(many.report.totals[field]).toBeCloseTo(asked.report.totals[field] ?? 0, 9);
    expect(many.report.misses).toEqual(asked.report.misses);
    expect(asked.report.totals.saved).toBeGreaterThan(0);
  });

  it('reports what Codex sessions used of a subscription, in the shape that Codex 0.171 writes', async () => {
    const home = tempFolder();
    const atMs = Date.parse(AT);
    const reset = atMs / 1000 + 7_200;
    /** A request that took 10 s, with the limits that its answer reported. */
    const request = (seconds: number, used: number, week: number) => {
      const line = (more: number, type: string, payload: unknown) => ({
        ...{ timestamp: new Date(atMs + (seconds + more) * 1000).toISOString(), type, payload },
      });
      const tokens = { input_tokens: 1_000 + seconds, cached_input_tokens: 0, output_tokens: 50, total_tokens: 1_050 };
      const window = (used_percent: number, window_minutes: number, resets_at: number) => ({
        ...{ used_percent, window_minutes, resets_at },
      });
      const message = { type: 'message', role: 'user', content: [{ type: 'input_text', text: `At ${seconds}.` }] };
      const rate_limits = {
        ...{ limit_id: 'codex', limit_name: null, plan_type: 'plus', rate_limit_reached_type: null },
        primary: window(used, 300, reset),
        secondary: window(week, 10_080, reset + 300_000),
        credits: { has_credits: false, unlimited: false, balance: null },
      };
      const info = { total_token_usage: tokens, last_token_usage: tokens, model_context_window: 258_400 };
      return [
        line(0, 'response_item', message),
        line(10, 'response_item', { type: 'message', role: 'assistant', content: [] }),
        line(10, 'event_msg', { type: 'token_count', info, rate_limits }),
        line(10, 'event_msg', { type: 'token_count', info: null, rate_limits: null }),
      ];
    };
    const session = (id: string, project: string, ...requests: object[][]) =>
      write(home, `.codex/sessions/2026/11/20/rollout-${id}.jsonl`, [
        { timestamp: AT, type: 'session_meta', payload: { id, cwd: `/home/me/${project}`, cli_version: '0.171.0' } },
        { timestamp: AT, type: 'turn_context', payload: { model: 'gpt-5-codex', cwd: `/home/me/${project}` } },
        ...requests.flat(),
      ]);
    // the first reading, and what moved in ten minutes without a request, is elsewhere; the two at 700 s overlap
    session('aaaaaaaa-1', 'api', request(0, 13, 21), request(20, 16, 22), request(700, 26, 22));
    session('bbbbbbbb-2', 'web', request(40, 18, 22), request(715, 29, 23), request(705, 29, 23));
    const { limits } = (await printed(home)) as unknown as { limits: readonly PastLimit[] };
    expect(limits).toMatchObject([
      {
        window: '5h',
        minutes: 300,
        resets: 1,
        sessions: [{ session: 'aaaaaaaa-1', project: 'api' }, { project: 'web' }],
      },
      { window: '7d', minutes: 10_080, resets: 1 },
    ]);
    for (const [at, whole] of [0.29, 0.23].entries()) {
      const { used = 0, elsewhere = 0, sessions = [] } = limits[at] ?? {};
      expect(used + elsewhere).toBeCloseTo(whole, 9);
      expect(sessions.reduce((sum, one) => sum + one.used, 0)).toBeCloseTo(used, 9);
    }
    expect(limits[0]?.elsewhere).toBeCloseTo(0.13, 9);
    const { out } = await run(['report', '--sessions'], { homeDir: home, cwd: home, clock: { nowMs } });
    expect(out.replaceAll(/\s+/g, ' ')).toMatch(
      /subscription: 16\.0 % in one window of 5h, most by session aaaaaaaa of api \([\d.]+ %\); elsewhere 13\.0 %/,
    );
  });

  it('bills an answer once even if tool results are between its blocks', async () => {
    const lines = claudeLines();
    const [, , text, call, result] = lines;
    // a second call of the same message, after the result of the first
    const again = structuredClone(call) as { message: { content: unknown[]; usage: { output_tokens: number } } };
    again.message.content = [{ type: 'tool_use', id: 't1b', name: 'Read', input: { file_path: 'a.ts' } }];
    const early = structuredClone(text) as { message: { usage: { output_tokens: number } } };
    early.message.usage.output_tokens = 5;
    const home = tempFolder();
    const resultOf = (id: string, content: string) => ({
      ...(result as object),
      message: { role: 'user', content: [{ tool_use_id: id, type: 'tool_result', content }] },
    });
    const interleaved = [
      ...lines.slice(0, 2),
      early,
      call,
      result,
      again,
      resultOf('t1b', 'export {};'),
      ...lines.slice(5),
    ];
    write(home, '.claude/projects/-home-me-shop/s.jsonl', interleaved);
    // a session that was taken up again has the older one's lines in its own file
    write(home, '.claude/projects/-home-me-shop/t.jsonl', interleaved);
    const { agents, report } = await printed(home);
    expect(agents).toEqual({ 'Claude Code': 3 });
    expect(report.totals.dollars).toBeCloseTo(OPUS, 9);
  });

  it('bills a compaction done by the provider, although only `usage.iterations` lists its tokens', async () => {
    const home = tempFolder();
    const lines = claudeLines() as { message?: { usage?: object } }[];
    const last = lines.at(-1)?.message;
    const compaction = {
      type: 'compaction',
      input_tokens: 180_000,
      cache_read_input_tokens: 10_000,
      output_tokens: 3_500,
    };
    if (last) last.usage = { ...last.usage, iterations: [compaction, { type: 'message', ...last.usage }] };
    write(home, '.claude/projects/-home-me-shop/s.jsonl', lines);
    const { totals } = (await printed(home)).report;
    expect(totals).toMatchObject({ fresh: 180_006, read: 80_000, output: 3_740 });
    expect(totals.dollars).toBeCloseTo(OPUS + (180_000 * 5 + 10_000 * 0.5 + 3_500 * 25) / 1_000_000, 9);
  });

  it('counts a session that went through the proxy, and estimates no further saving for it', async () => {
    const home = tempFolder();
    const lines = claudeLines();
    const marked = structuredClone(lines) as { message?: { content: unknown } }[];
    const marker = formatMarker({ pruneId: 'prn_0123456789AB', startLine: 3, endLine: 800, reason: 'noise' });
    for (const line of marked) {
      if (Array.isArray(line.message?.content) && JSON.stringify(line).includes('tool_result')) {
        line.message.content = [{ tool_use_id: 't1', type: 'tool_result', content: `a\n${marker}\nb` }];
      }
    }
    write(home, '.claude/projects/-home-me-shop/s.jsonl', marked);
    const { throughProxy, report } = await printed(home);
    expect([throughProxy, report.totals.saved, report.totals.removed]).toEqual([1, 0, 0]);
    expect(report.totals.dollars).toBeCloseTo(OPUS, 9);
    const { out } = await run(['report', '--sessions'], { homeDir: home, clock: { nowMs } });
    expect(out).toContain('1 session already went through the proxy: not counted in "saved"');
  });

  it('reports at the top that a model has no price, and shows no dollars', async () => {
    const home = tempFolder();
    const lines = JSON.stringify(claudeLines()).replaceAll('claude-opus-5', 'a-model-of-mine');
    write(home, '.claude/projects/-home-me-shop/s.jsonl', JSON.parse(lines) as unknown[]);
    const { out } = await run(['report', '--sessions'], { homeDir: home, clock: { nowMs } });
    expect(out.split('\n')[2]).toBe('3 requests of a-model-of-mine without a price');
    expect(out).toContain('no dollars: none of these models has a price');
    expect(out).not.toContain('$0.00');
  });

  it('fits on one screen of the terminal', async () => {
    const home = tempFolder();
    write(home, '.claude/projects/-home-me-shop/s.jsonl', claudeLines());
    for (const columns of [60, 80, 200]) {
      const { out } = await run(['report', '--sessions'], {
        homeDir: home,
        clock: { nowMs },
        columns,
        outIsTerminal: true,
      });
      const lines = stripVTControlCharacters(out).split('\n');
      expect([columns, Math.max(...lines.map(({ length }) => length)) <= Math.min(columns, 80)]).toEqual([
        columns,
        true,
      ]);
      expect(lines.length).toBeLessThan(50);
    }
  });

  it('shows the maximum number of recoveries that a session needs', async () => {
    const home = tempFolder();
    write(home, '.claude/projects/-home-me-shop/s.jsonl', claudeLines());
    const args = ['report', '--sessions', '--json'];
    const { out } = await run(args, { homeDir: home, cwd: home, clock: { nowMs } });
    const found = JSON.parse(out) as SessionsReport;
    const shown = {
      ...found,
      sessions: 5,
      throughProxy: 1,
      report: { ...found.report, lines: { used: 300, lost: 6 } },
    };
    expect(sessionsText(shown, (_, text) => text).replaceAll(/\s+/g, ' ')).toContain(
      'of 300 lines that the model used again, 6 (2.0 %) would have been cut: at most 1.5 recoveries per session',
    );
  });

  it('prints a shareable block without names, paths or texts of the sessions', async () => {
    const home = tempFolder();
    const lines = JSON.stringify(claudeLines()).replaceAll('"Bash"', '"mcp__secret-server__look"');
    write(home, '.claude/projects/-home-me-shop/s.jsonl', JSON.parse(lines) as unknown[]);
    write(
      home,
      '.claude/projects/-home-me-shop/t.jsonl',
      JSON.parse(
        lines.replaceAll('claude-opus-5', 'secret-model').replaceAll('"id":"m', '"id":"n').replaceAll('req_m', 'req_n'),
      ) as unknown[],
    );
    const { code, out } = await run(['report', '--sessions', '--share'], { homeDir: home, clock: { nowMs } });
    expect(code).toBe(0);
    for (const part of ['2 sessions in 30 days', 'claude-opus-5 100.0 %', 'with pruning $', 'cold caches: $']) {
      expect(out).toContain(part);
    }
    expect(out).not.toMatch(/shop|secret|home|payment|\.jsonl/);
    expect(Math.max(...out.split('\n').map(({ length }) => length))).toBeLessThanOrEqual(80);
    expect((await run(['report', '--share'], { homeDir: home })).code).toBe(2);
  });

  it('shows its progress on a terminal, and removes it again', async () => {
    const home = tempFolder();
    write(home, '.claude/projects/-home-me-shop/s.jsonl', claudeLines());
    const here = { homeDir: home, cwd: home, clock: { nowMs }, errIsTerminal: true };
    const { code, err } = await run(['report', '--sessions'], here);
    expect(code).toBe(0);
    expect(err).toMatch(/\[[█░]{24}\] 0\/1 {2}Claude Code/);
    expect(err.endsWith('\r\x1b[K')).toBe(true);
  });

  it('lists the searched folders in at most three lines if there are no sessions', async () => {
    const { code, out } = await run(['report', '--sessions'], { homeDir: tempFolder() });
    expect([code, out.trimEnd().split('\n').length <= 3]).toEqual([0, true]);
    expect(out.replaceAll(/\s+/g, ' ')).toContain(
      'Claude Code, Codex, opencode, Kilo, Gemini CLI, Copilot CLI, pi, Qwen Code, Kimi Code, Cline',
    );
  });
});
