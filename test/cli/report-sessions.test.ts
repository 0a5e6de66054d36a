import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
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

describe('report --sessions', () => {
  it('tells dollars of sessions that are over, read where they lie, without any configuration', async () => {
    const home = tempFolder();
    write(home, '.claude/projects/-home-me-shop/s.jsonl', claudeLines());
    write(home, '.codex/sessions/2026/11/20/rollout-x.jsonl', codexLines());
    const nowMs = (): number => Date.parse(AT) + 3_600_000;
    const here = { homeDir: home, cwd: home, clock: { nowMs } };
    const { code, out, err } = await run(['report', '--sessions', '--json'], here);
    expect([code, err]).toEqual([0, '']);
    const told = JSON.parse(out) as {
      files: number;
      skipped: number;
      agents: object;
      report: { totals: Record<string, number>; projects: { project: string }[] };
    };
    expect([told.files, told.skipped, told.agents]).toEqual([2, 0, { 'Claude Code': 3, Codex: 2 }]);
    const { totals, projects } = told.report;
    const opus = (6 * 5 + 95_000 * 6.25 + 70_000 * 0.5 + 240 * 25) / 1_000_000;
    const codex = ((9_000 + 40_040) * 1.25 + 8_960 * 0.125 + 100 * 10) / 1_000_000;
    expect(totals.dollars).toBeCloseTo(opus + codex, 9);
    expect(totals.dollarsWithout).toBeLessThan(0.7 * (totals.dollars ?? 0));
    expect(totals.dollarsWithout).toBeGreaterThan(0);
    expect((await run(['report', '--sessions'], here)).out).toContain('5 requests (Claude Code 3, Codex 2)');
    expect(projects.map(({ project }) => project).sort()).toEqual(['api', 'shop']);
  });

  it('shows on a terminal how far it is, and takes that away again', async () => {
    const home = tempFolder();
    write(home, '.claude/projects/-home-me-shop/s.jsonl', claudeLines());
    const nowMs = (): number => Date.parse(AT) + 3_600_000;
    const here = { homeDir: home, cwd: home, clock: { nowMs }, errIsTerminal: true };
    const { code, err } = await run(['report', '--sessions'], here);
    expect(code).toBe(0);
    expect(err).toMatch(/\[[█░]{24}\] 0\/1 {2}Claude Code/);
    expect(err.endsWith('\r\x1b[K')).toBe(true);
  });

  it('says where it looked when there is none', async () => {
    const { code, err } = await run(['report', '--sessions'], { homeDir: tempFolder() });
    expect(code).toBe(1);
    expect(err).toContain('~/.claude/projects or ~/.codex/sessions');
  });
});
