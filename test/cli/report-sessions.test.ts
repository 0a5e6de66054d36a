import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import { formatMarker } from '../../src/engine/text/marker.ts';
import { sqliteDriver } from '../../src/store/sqlite/driver.ts';
import { tempFolder } from '../helpers/afterwards.ts';
import { serverLog } from '../helpers/texts.ts';
import { run } from './fake-io.ts';

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

interface Told {
  readonly files: number;
  readonly skipped: number;
  readonly throughProxy: number;
  readonly agents: object;
  readonly report: {
    readonly notes: readonly string[];
    readonly totals: Readonly<Record<string, number>>;
    readonly projects: readonly { readonly project: string }[];
  };
}

async function told(home: string): Promise<Told> {
  const { code, out, err } = await run(['report', '--sessions', '--json'], {
    homeDir: home,
    cwd: home,
    clock: { nowMs },
  });
  expect([code, err]).toEqual([0, '']);
  return JSON.parse(out) as Told;
}

const OPUS = (6 * 5 + 95_000 * 6.25 + 70_000 * 0.5 + 240 * 25) / 1_000_000;

describe('report --sessions', () => {
  it('has the dollars of sessions that are over, read where they lie, without any configuration', async () => {
    const home = tempFolder();
    write(home, '.claude/projects/-home-me-shop/s.jsonl', claudeLines());
    write(home, '.codex/sessions/2026/11/20/rollout-x.jsonl', codexLines());
    const { files, skipped, agents, report } = await told(home);
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

  it('bills an answer once where tool results stand between the blocks of its message', async () => {
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
    const { agents, report } = await told(home);
    expect(agents).toEqual({ 'Claude Code': 3 });
    expect(report.totals.dollars).toBeCloseTo(OPUS, 9);
  });

  it('counts a session that already went through the proxy, and saves nothing in it', async () => {
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
    const { throughProxy, report } = await told(home);
    expect([throughProxy, report.totals.saved, report.totals.removed]).toEqual([1, 0, 0]);
    expect(report.totals.dollars).toBeCloseTo(OPUS, 9);
    const { out } = await run(['report', '--sessions'], { homeDir: home, clock: { nowMs } });
    expect(out).toContain('1 session went through the proxy already');
  });

  it('says first that there is no price, and has no saving in dollars then', async () => {
    const home = tempFolder();
    const lines = JSON.stringify(claudeLines()).replaceAll('claude-opus-5', 'a-model-of-mine');
    write(home, '.claude/projects/-home-me-shop/s.jsonl', JSON.parse(lines) as unknown[]);
    const { out } = await run(['report', '--sessions'], { homeDir: home, clock: { nowMs } });
    expect(out.split('\n')[2]).toBe('3 requests of a-model-of-mine without a price');
    expect(out).toContain('no dollars: none of these models has a price');
    expect(out).not.toContain('$0.00');
  });

  it('is one screen that fits the terminal', async () => {
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

  it('is a block to post that has no name, path or text of the sessions', async () => {
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

  it('shows on a terminal how far it is, and takes that away again', async () => {
    const home = tempFolder();
    write(home, '.claude/projects/-home-me-shop/s.jsonl', claudeLines());
    const here = { homeDir: home, cwd: home, clock: { nowMs }, errIsTerminal: true };
    const { code, err } = await run(['report', '--sessions'], here);
    expect(code).toBe(0);
    expect(err).toMatch(/\[[█░]{24}\] 0\/1 {2}Claude Code/);
    expect(err.endsWith('\r\x1b[K')).toBe(true);
  });

  it('says in at most three lines where it looked when there is nothing', async () => {
    const { code, out } = await run(['report', '--sessions'], { homeDir: tempFolder() });
    expect([code, out.trimEnd().split('\n').length <= 3]).toEqual([0, true]);
    expect(out.replaceAll(/\s+/g, ' ')).toContain('Claude Code, Codex, opencode, Gemini CLI, Copilot CLI, Cline');
  });

  it('reads what other agents keep, each in its own form', async () => {
    const home = tempFolder();
    const put = (path: string, value: unknown): void => {
      mkdirSync(dirname(join(home, path)), { recursive: true });
      writeFileSync(join(home, path), typeof value === 'string' ? value : JSON.stringify(value));
    };
    const log = serverLog(400);
    put('.gemini/tmp/shop/chats/session-1.json', {
      sessionId: 'g',
      messages: [
        { id: '1', timestamp: AT, type: 'user', content: 'Why does it fail?' },
        {
          ...{ id: '2', timestamp: AT, type: 'gemini', content: 'I look.', model: 'gemini-2.5-pro' },
          tokens: { input: 9_000, output: 20, cached: 0, thoughts: 30, tool: 0, total: 9_050 },
          toolCalls: [
            {
              ...{ id: 'c', name: 'run_shell_command', args: { command: 'npm start' } },
              result: [{ functionResponse: { id: 'c', name: 'run_shell_command', response: { output: log } } }],
            },
          ],
        },
        {
          ...{ id: '3', timestamp: AT, type: 'gemini', content: 'The payment.', model: 'gemini-2.5-pro' },
          tokens: { input: 24_000, output: 20, cached: 8_000, thoughts: 0, tool: 0, total: 24_020 },
        },
      ],
    });
    const event = (type: string, data: unknown): string => JSON.stringify({ type, data, timestamp: AT });
    put(
      '.copilot/session-state/s/events.jsonl',
      [
        event('session.start', { context: { cwd: '/home/me/shop' } }),
        event('user.message', { content: 'Why does it fail?' }),
        event('assistant.message', {
          ...{ messageId: 'a', apiCallId: 'x', model: 'claude-sonnet-4.6', content: '', outputTokens: 50 },
          toolRequests: [{ toolCallId: 'c', name: 'bash', arguments: { command: 'npm start' } }],
        }),
        event('tool.execution_complete', { toolCallId: 'c', result: { content: log } }),
        event('assistant.message', {
          ...{ messageId: 'b', apiCallId: 'y', model: 'claude-sonnet-4.6', content: 'The payment.', outputTokens: 30 },
        }),
        event('session.shutdown', {
          modelMetrics: {
            'claude-sonnet-4.6': {
              usage: { inputTokens: 40_000, outputTokens: 80, cacheReadTokens: 10_000, cacheWriteTokens: 0 },
            },
          },
        }),
      ].join('\n'),
    );
    const task = '.cline/data/tasks/1763632800000';
    put(`${task}/api_conversation_history.json`, [
      { role: 'user', content: [{ type: 'text', text: 'Why does it fail?' }] },
      {
        role: 'assistant',
        content: [{ type: 'tool_use', id: 't', name: 'execute_command', input: { command: 'npm start' } }],
      },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: log }] },
      { role: 'assistant', content: [{ type: 'text', text: 'The payment.' }] },
    ]);
    const asked = (tokensIn: number, cacheReads: number) => ({
      ...{
        ts: Date.parse(AT) + tokensIn,
        type: 'say',
        say: 'api_req_started',
        modelInfo: { modelId: 'claude-haiku-4-5' },
      },
      text: JSON.stringify({ request: '', tokensIn, tokensOut: 10, cacheWrites: 0, cacheReads }),
    });
    put(`${task}/ui_messages.json`, [asked(8_000, 0), asked(14_000, 8_000)]);
    const storage = '.local/share/opencode/storage';
    const said = (id: string, role: string, more: object, parts: readonly object[]): void => {
      put(`${storage}/message/ses/${id}.json`, { id, role, time: { created: Date.parse(AT) }, ...more });
      for (const [i, one] of parts.entries()) put(`${storage}/part/${id}/prt_${i}.json`, one);
    };
    const of = { modelID: 'kimi-k2.5', path: { cwd: '/home/me/api' } };
    said('msg_1', 'user', {}, [{ type: 'text', text: 'Why does it fail?' }]);
    said(
      'msg_2',
      'assistant',
      { ...of, tokens: { input: 7_000, output: 20, reasoning: 5, cache: { read: 0, write: 0 } } },
      [{ type: 'tool', callID: 'c', tool: 'bash', state: { input: { command: 'npm start' }, output: log } }],
    );
    said(
      'msg_3',
      'assistant',
      { ...of, tokens: { input: 15_000, output: 20, reasoning: 0, cache: { read: 7_000, write: 0 } } },
      [{ type: 'text', text: 'The payment.' }],
    );
    const { agents, skipped, report } = await told(home);
    expect([agents, skipped]).toEqual([{ opencode: 2, 'Gemini CLI': 2, 'Copilot CLI': 2, Cline: 2 }, 0]);
    const gemini = (25_000 * 1.25 + 8_000 * 0.125 + 70 * 10) / 1e6;
    const copilot = (30_000 * 3 + 10_000 * 0.3 + 80 * 15) / 1e6;
    const cline = (22_000 * 1 + 8_000 * 0.1 + 20 * 5) / 1e6;
    const opencode = (22_000 * 0.6 + 7_000 * 0.1 + 45 * 3) / 1e6;
    expect(report.totals.dollars).toBeCloseTo(gemini + copilot + cline + opencode, 9);
    expect(report.totals.estimated).toBe(2);
    expect(report.totals.removedNew).toBeGreaterThan(8_000);
    expect(report.totals.dollarsWith).toBeLessThan(report.totals.dollars ?? 0);
  });

  it('reads the database of opencode', async () => {
    const home = tempFolder();
    const folder = join(home, '.local/share/opencode');
    mkdirSync(folder, { recursive: true });
    const database = new (sqliteDriver())(join(folder, 'opencode.db'));
    database.exec(`CREATE TABLE session (id TEXT, time_updated INTEGER);
      CREATE TABLE message (id TEXT, session_id TEXT, time_created INTEGER, data TEXT);
      CREATE TABLE part (id TEXT, message_id TEXT, session_id TEXT, data TEXT);`);
    const atMs = Date.parse(AT);
    database.prepare('INSERT INTO session VALUES (?, ?)').run('s', atMs);
    const message = database.prepare('INSERT INTO message VALUES (?, ?, ?, ?)');
    message.run('m1', 's', atMs, JSON.stringify({ role: 'user' }));
    const tokens = { input: 10_000, output: 100, reasoning: 0, cache: { read: 0, write: 0 } };
    message.run(
      'm2',
      's',
      atMs + 1,
      JSON.stringify({ role: 'assistant', modelID: 'kimi-k2.5', time: { created: atMs }, tokens }),
    );
    const part = database.prepare('INSERT INTO part VALUES (?, ?, ?, ?)');
    part.run('p1', 'm1', 's', JSON.stringify({ type: 'text', text: 'Why?' }));
    part.run('p2', 'm2', 's', JSON.stringify({ type: 'text', text: 'So.' }));
    database.close();
    const { agents, report } = await told(home);
    expect(agents).toEqual({ opencode: 1 });
    expect(report.totals.dollars).toBeCloseTo((10_000 * 0.6 + 100 * 3) / 1e6, 9);
  });
});
