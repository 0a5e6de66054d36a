import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { sqliteDriver } from 'mcp-pruner/store/sqlite/driver.ts';
import { describe, expect, it } from 'vitest';
import { run } from '../../../test/cli/fake-io.ts';
import { tempFolder } from '../../../test/helpers/afterwards.ts';
import { json, startUpstream } from '../../../test/helpers/fake-upstream.ts';
import { messagesBody, oneCall } from '../../../test/helpers/messages.ts';
import { startProxy } from '../../../test/helpers/proxy.ts';
import { serverLog } from '../../../test/helpers/texts.ts';

const AT = '2026-11-20T10:00:00.000Z';
const nowMs = (): number => Date.parse(AT) + 3_600_000;

interface Printed {
  readonly skipped: number;
  readonly agents: object;
  readonly report: { readonly totals: Readonly<Record<string, number>> };
}

async function printed(home: string): Promise<Printed> {
  const { code, out, err } = await run(['report', '--sessions', '--json'], {
    homeDir: home,
    cwd: home,
    clock: { nowMs },
  });
  expect([code, err]).toEqual([0, '']);
  return JSON.parse(out) as Printed;
}

describe('report --sessions', () => {
  it('reads the session files of other agents, each in its own format', async () => {
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
    const metrics = (inputTokens: number, cacheReadTokens: number) => ({
      ...{ inputTokens, cacheReadTokens, outputTokens: 10, cacheWriteTokens: 0 },
    });
    const answered = { role: 'assistant', ts: Date.parse(AT), modelInfo: { id: 'claude-haiku-4-5' } };
    const called = { type: 'tool_use', id: 'r', name: 'run_commands', input: { commands: ['npm start'] } };
    const results = [{ query: 'npm start', result: log, success: true }];
    put('.cline/data/sessions/s1/s1.json', { workspace_root: '/home/me/shop' });
    put('.cline/data/sessions/s1/s1.messages.json', {
      messages: [
        { id: '1', role: 'user', content: [{ type: 'text', text: 'Why does it fail?' }] },
        { id: '2', ...answered, content: [called], metrics: metrics(8_000, 0) },
        { id: '3', role: 'user', content: [{ type: 'tool_result', tool_use_id: 'r', content: results }] },
        { id: '4', ...answered, content: [{ type: 'text', text: 'The payment.' }], metrics: metrics(22_000, 8_000) },
      ],
    });
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
    const { agents, skipped, report } = await printed(home);
    expect([agents, skipped]).toEqual([{ opencode: 2, 'Gemini CLI': 2, 'Copilot CLI': 2, Cline: 4 }, 0]);
    const gemini = (25_000 * 1.25 + 8_000 * 0.125 + 70 * 10) / 1e6;
    const copilot = (30_000 * 3 + 10_000 * 0.3 + 80 * 15) / 1e6;
    const cline = (2 * (22_000 * 1 + 8_000 * 0.1 + 20 * 5)) / 1e6; // two sessions of the same sizes
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
    const { agents, report } = await printed(home);
    expect(agents).toEqual({ opencode: 1 });
    expect(report.totals.dollars).toBeCloseTo((10_000 * 0.6 + 100 * 3) / 1e6, 9);
  });

  it('recognises a pruned session without markers from the store on this machine', async () => {
    const upstream = await startUpstream((_, res) => {
      json(res, 200, {
        type: 'message',
        role: 'assistant',
        model: 'claude-opus-5',
        content: [],
        usage: { input_tokens: 9 },
      });
    });
    const env = { MCP_PRUNER_ANTHROPIC_URL: `http://127.0.0.1:${upstream.port}/v1` };
    const proxy = await startProxy(upstream, { env });
    const messages = oneCall(serverLog(900));
    const body = messagesBody(messages, { model: 'claude-opus-5' });
    const headers = { 'content-type': 'application/json' };
    await (await fetch(`${proxy.url}/v1/messages`, { method: 'POST', headers, body })).text();
    await proxy.stop();
    const home = tempFolder();
    const line = (type: string, message: object): string =>
      JSON.stringify({ type, timestamp: AT, cwd: '/home/me/shop', requestId: JSON.stringify(message).length, message });
    const usage = (input: number) => ({ input_tokens: input, output_tokens: 50 });
    const said = { id: 'a', role: 'assistant', model: 'claude-opus-5', usage: usage(5_000) };
    const path = join(home, '.claude/projects/shop/s.jsonl');
    mkdirSync(dirname(path), { recursive: true });
    const [asked = {}, called = {}, result = {}] = messages;
    const last = { ...said, id: 'b', content: [{ type: 'text', text: 'It is the payment.' }], usage: usage(45_000) };
    const lines = [
      line('user', asked),
      line('assistant', { ...said, ...called }),
      line('user', result),
      line('assistant', last),
    ];
    writeFileSync(path, lines.join('\n'));
    const here = { homeDir: home, cwd: home, clock: { nowMs } };
    const seen = await run(['report', '--sessions', '--json'], { ...here, env: { MCP_PRUNER_DB_PATH: proxy.dbPath } });
    const unseen = await run(['report', '--sessions', '--json'], here);
    const of = (out: string) => {
      const { throughProxy, report } = JSON.parse(out) as Printed & { readonly throughProxy: number };
      return [throughProxy, (report.totals.saved ?? 0) > 0];
    };
    expect([of(seen.out), of(unseen.out)]).toEqual([
      [1, false],
      [0, true],
    ]);
  });
});
