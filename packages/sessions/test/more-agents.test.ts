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

const stamp = (second: number): string => new Date(Date.UTC(2026, 10, 20, 10, 0, second)).toISOString();
const nowMs = (): number => Date.UTC(2026, 10, 20, 12);
const LOG = serverLog(400);

interface Printed {
  readonly skipped: number;
  readonly throughProxy: number;
  readonly agents: object;
  readonly report: {
    readonly totals: Readonly<Record<string, number>>;
    readonly projects: readonly { project: string }[];
  };
}

class Home {
  readonly folder = tempFolder();

  put(path: string, lines: readonly unknown[] | string): void {
    mkdirSync(dirname(join(this.folder, path)), { recursive: true });
    const text = typeof lines === 'string' ? lines : `${lines.map((line) => JSON.stringify(line)).join('\n')}\n`;
    writeFileSync(join(this.folder, path), text);
  }

  async report(env: Record<string, string> = {}): Promise<Printed> {
    const given = { homeDir: this.folder, cwd: this.folder, clock: { nowMs }, env };
    const { code, out, err } = await run(['report', '--sessions', '--json'], given);
    expect([code, err]).toEqual([0, '']);
    return JSON.parse(out) as Printed;
  }
}

/** Two requests of gpt-5: 9,000 tokens in and 50 out, and 20,000 in, 8,000 of them read from the cache, and 70 out. */
const TWO = ((9_000 + 12_000) * 1.25 + 8_000 * 0.125 + 120 * 10) / 1e6;

const piUsage = (input: number, cacheRead: number, output: number) => ({
  ...{ input, output, cacheRead, cacheWrite: 0, reasoning: 10, totalTokens: input + cacheRead + output },
  cost: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 },
});
const piEntry = (id: string, parentId: string | null, second: number, message: object) => ({
  ...{ type: 'message', id, parentId, timestamp: stamp(second), message },
});
const piLines = (header: object = {}): unknown[] => [
  { type: 'session', version: 3, id: 's1', timestamp: stamp(0), cwd: '/home/me/shop', ...header },
  { type: 'model_change', id: 'm', parentId: null, timestamp: stamp(0), provider: 'openai', modelId: 'gpt-5' },
  piEntry('a', 'm', 1, { role: 'user', content: 'Why does it fail?' }),
  piEntry('b', 'a', 2, {
    ...{ role: 'assistant', model: 'gpt-5', stopReason: 'toolUse', usage: piUsage(9_000, 0, 50) },
    content: [{ type: 'toolCall', id: 'c1', name: 'bash', arguments: { command: 'npm start' } }],
  }),
  piEntry('c', 'b', 3, {
    role: 'toolResult',
    toolCallId: 'c1',
    toolName: 'bash',
    content: [{ type: 'text', text: LOG }],
  }),
  piEntry('d', 'c', 4, {
    ...{ role: 'assistant', model: 'gpt-5', stopReason: 'stop', usage: piUsage(12_000, 8_000, 70) },
    content: [{ type: 'text', text: 'The payment.' }],
  }),
];

const qwenRecord = (uuid: string, parentUuid: string | null, second: number, more: object) => ({
  ...{ uuid, parentUuid, sessionId: 'q', timestamp: stamp(second), cwd: '/home/me/shop', version: '0.21.0', ...more },
});
const qwenUsage = (promptTokenCount: number, cachedContentTokenCount: number, candidatesTokenCount: number) => ({
  ...{ promptTokenCount, cachedContentTokenCount, candidatesTokenCount, thoughtsTokenCount: 5 },
  totalTokenCount: promptTokenCount + candidatesTokenCount,
});
const QWEN: readonly unknown[] = [
  qwenRecord('a', null, 1, { type: 'user', message: { role: 'user', parts: [{ text: 'Why does it fail?' }] } }),
  qwenRecord('t', 'a', 1, { type: 'system', subtype: 'ui_telemetry', systemPayload: {} }),
  qwenRecord('b', 't', 2, {
    ...{ type: 'assistant', model: 'gpt-5', usageMetadata: qwenUsage(9_000, 0, 50) },
    message: {
      role: 'model',
      parts: [
        { text: 'Hm.', thought: true },
        { functionCall: { id: 'c', name: 'run_shell_command', args: { command: 'npm start' } } },
      ],
    },
  }),
  qwenRecord('c', 'b', 3, {
    type: 'tool_result',
    message: {
      role: 'user',
      parts: [{ functionResponse: { id: 'c', name: 'run_shell_command', response: { output: LOG } } }],
    },
  }),
  qwenRecord('d', 'c', 4, {
    ...{ type: 'assistant', model: 'gpt-5', usageMetadata: qwenUsage(20_000, 8_000, 70) },
    message: { role: 'model', parts: [{ text: 'The payment.' }] },
  }),
];

const kimiUsage = (second: number, inputOther: number, inputCacheRead: number, output: number) => ({
  ...{ type: 'usage.record', agentId: 'main', model: 'gpt-5', usageScope: 'turn', time: Date.parse(stamp(second)) },
  usage: { inputOther, inputCacheRead, inputCacheCreation: 0, output },
});
const loop = (event: object) => ({ type: 'context.append_loop_event', event });
const KIMI: readonly unknown[] = [
  { type: 'metadata', protocol_version: '1.5' },
  { type: 'turn.prompt', input: [{ type: 'text', text: 'Why does it fail?' }] },
  { type: 'context.append_message', message: { role: 'user', content: [{ type: 'text', text: 'Why does it fail?' }] } },
  loop({ type: 'step.begin', uuid: '1', turnId: '0', step: 1 }),
  loop({ type: 'content.part', part: { type: 'think', think: 'Hm.' } }),
  loop({ type: 'tool.call', toolCallId: 'c', name: 'Bash', args: { command: 'npm start' } }),
  loop({ type: 'step.end', uuid: '1', usage: { inputOther: 9_000, output: 50 } }),
  kimiUsage(2, 9_000, 0, 50),
  loop({ type: 'tool.result', toolCallId: 'c', result: { output: LOG } }),
  loop({ type: 'step.begin', uuid: '2', turnId: '0', step: 2 }),
  loop({ type: 'content.part', part: { type: 'text', text: 'The payment.' } }),
  kimiUsage(4, 12_000, 8_000, 70),
];

function putKilo(home: Home): void {
  home.put('.local/share/kilo/note', '');
  const Driver = sqliteDriver();
  const database = new Driver(join(home.folder, '.local/share/kilo/kilo.db'));
  database.exec(`CREATE TABLE session (id TEXT, time_updated INTEGER);
    CREATE TABLE message (id TEXT, session_id TEXT, time_created INTEGER, data TEXT);
    CREATE TABLE part (id TEXT, message_id TEXT, session_id TEXT, data TEXT);`);
  database.prepare('INSERT INTO session VALUES (?, ?)').run('ses', Date.parse(stamp(5)));
  const message = database.prepare('INSERT INTO message VALUES (?, ?, ?, ?)');
  const part = database.prepare('INSERT INTO part VALUES (?, ?, ?, ?)');
  const about = { role: 'assistant', modelID: 'gpt-5', path: { cwd: '/home/me/shop' } };
  const tokens = (input: number, read: number, output: number) => ({
    input,
    output,
    reasoning: 0,
    cache: { read, write: 0 },
  });
  const add = (id: string, second: number, data: object, one: object): void => {
    const created = Date.parse(stamp(second));
    message.run(id, 'ses', created, JSON.stringify({ ...data, time: { created } }));
    part.run(`p_${id}`, id, 'ses', JSON.stringify(one));
  };
  add('1', 1, { role: 'user' }, { type: 'text', text: 'Why does it fail?' });
  const state = { input: { command: 'npm start' }, output: LOG };
  add('2', 2, { ...about, tokens: tokens(9_000, 0, 50) }, { type: 'tool', callID: 'c', tool: 'bash', state });
  add('3', 4, { ...about, tokens: tokens(12_000, 8_000, 70) }, { type: 'text', text: 'The payment.' });
  database.close();
}

describe('the sessions of agents that run starts', () => {
  it.each<[string, (home: Home) => void]>([
    ['pi', (home) => home.put('.pi/agent/sessions/--home-me-shop--/2026_s1.jsonl', piLines())],
    ['Qwen Code', (home) => home.put('.qwen/projects/-home-me-shop/chats/q.jsonl', QWEN)],
    [
      'Kimi Code',
      (home) => {
        home.put('.kimi-code/sessions/wd_shop_1/session_1/state.json', JSON.stringify({ workDir: '/home/me/shop' }));
        home.put('.kimi-code/sessions/wd_shop_1/session_1/agents/main/wire.jsonl', KIMI);
      },
    ],
    ['Kilo', putKilo],
  ])('are read: %s', async (agent, put) => {
    const home = new Home();
    put(home);
    const { agents, skipped, report } = await home.report();
    expect([agents, skipped, report.projects.map(({ project }) => project)]).toEqual([{ [agent]: 2 }, 0, ['shop']]);
    expect(report.totals.dollars).toBeCloseTo(TWO, 9);
    expect(report.totals.removed).toBeGreaterThan(1_000);
  });

  it('go on after a branch, a fork and a compaction of pi, each request once', async () => {
    const home = new Home();
    const branch = piEntry('e', 'a', 6, {
      ...{ role: 'assistant', model: 'gpt-5', usage: piUsage(3_000, 0, 10) },
      content: [{ type: 'text', text: 'Another way.' }],
    });
    const compaction = {
      ...{ type: 'compaction', id: 'k', parentId: 'e', timestamp: stamp(7), summary: 'It failed.' },
      ...{ firstKeptEntryId: 'e', tokensBefore: 9, usage: piUsage(2_000, 0, 20), model: 'gpt-5' },
    };
    home.put('.pi/agent/sessions/--home-me-shop--/2026_s1.jsonl', [...piLines(), branch, compaction]);
    home.put('.pi/agent/sessions/--home-me-shop--/2026_s2.jsonl', piLines({ id: 's2', parentSession: '/s1.jsonl' }));
    const { agents, report } = await home.report();
    expect(agents).toEqual({ pi: 4 });
    expect(report.totals.dollars).toBeCloseTo(TWO + (5_000 * 1.25 + 30 * 10) / 1e6, 9);
  });
});

const OPUS = (input: number, output: number): number => (input * 5 + output * 25) / 1e6;

interface ClaudeLine {
  readonly sessionId?: string;
  readonly sidechain?: boolean;
  readonly without?: readonly ('requestId' | 'id')[];
}

/** Requests of Claude Code: the k-th has 8,000 + 1,000 k tokens in and 100 out. */
function claude(
  session: string,
  requests: readonly number[],
  { sidechain = false, without = [] }: ClaudeLine = {},
): unknown[] {
  return requests.flatMap((k) => {
    const about = {
      isSidechain: sidechain,
      agentId: sidechain ? session : undefined,
      cwd: '/home/me/api',
      sessionId: session,
    };
    const at = { timestamp: stamp(k), uuid: `${session} ${k}` };
    return [
      { ...about, ...at, uuid: `${session} u${k}`, type: 'user', message: { role: 'user', content: `Step ${k}` } },
      {
        ...{ ...about, ...at, type: 'assistant', requestId: without.includes('requestId') ? undefined : `req_${k}` },
        message: {
          ...{ id: without.includes('id') ? undefined : `msg_${k}`, role: 'assistant', model: 'claude-opus-5' },
          content: [{ type: 'text', text: `Done ${k}.` }],
          usage: { input_tokens: 8_000 + 1_000 * k, output_tokens: 100 },
        },
      },
    ];
  });
}

const PARENT = [0, 1, 2, 3];
const once = [...PARENT, 10, 11, 12].reduce((sum, k) => sum + OPUS(8_000 + 1_000 * k, 100), 0);
const FORKS: readonly (readonly [string, ClaudeLine])[] = [
  ['forks with ids of their own for sessions and lines', {}],
  ['forks whose copied lines have lost the request id', { without: ['requestId'] }],
  ['forks behind a gateway that names no messages', { without: ['requestId', 'id'] }],
  ['sub-agents that begin with the context of their parent', { sidechain: true }],
];

describe('requests of Claude Code that forks and sub-agents repeat', () => {
  it.each(FORKS)('are billed once: %s', async (_, how) => {
    for (const first of ['a', 'z']) {
      const home = new Home();
      const nameless = how.without?.includes('id') === true ? how : {};
      home.put(`.claude/projects/-home-me-api/${first}.jsonl`, claude('parent', PARENT, nameless));
      for (const k of [10, 11, 12]) {
        const copied = claude(`fork${k}`, [0, 1, 2], how);
        home.put(`.claude/projects/-home-me-api/m${k}.jsonl`, [...copied, ...claude(`fork${k}`, [k], nameless)]);
      }
      const { report } = await home.report();
      expect(report.totals.dollars).toBeCloseTo(once, 9);
      expect(report.totals.requests).toBe(7);
    }
  });

  it('are billed each if another answer has the same message id and another request id', async () => {
    const home = new Home();
    const other = claude('other', [0]).map((line) => ({ ...(line as object), requestId: 'req_other' }));
    home.put('.claude/projects/-home-me-api/a.jsonl', claude('parent', [0]));
    home.put('.claude/projects/-home-me-api/b.jsonl', other);
    expect((await home.report()).report.totals.requests).toBe(2);
  });
});

describe('a session that went through the proxy', () => {
  const marked = 'a\n⟦PRUNÉ: prune_id=prn_0123456789AB lignes 3-800 (798) raison=noise⟧\nb';
  const claudeFile = (session: string, result: string): unknown[] => [
    ...claude(session, [0]),
    {
      ...{ cwd: '/home/me/api', sessionId: session, type: 'user', timestamp: stamp(1), uuid: 'r' },
      message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: result }] },
    },
    ...claude(session, [5]),
  ];
  const codexFile = (id: string): unknown[] => [
    { timestamp: stamp(0), type: 'session_meta', payload: { id, cwd: '/home/me/api' } },
    { timestamp: stamp(0), type: 'turn_context', payload: { model: 'gpt-5' } },
    {
      ...{ timestamp: stamp(1), type: 'event_msg' },
      payload: {
        type: 'token_count',
        info: { total_token_usage: { a: 1 }, last_token_usage: { input_tokens: 900, output_tokens: 5 } },
      },
    },
  ];

  it('is known by its session id in the store, whether or not its file shows a marker', async () => {
    const upstream = await startUpstream((_request, res) =>
      json(res, 200, { type: 'message', role: 'assistant', content: [], usage: { input_tokens: 9, output_tokens: 1 } }),
    );
    const proxy = await startProxy(upstream);
    const send = (headers: Record<string, string>, body: Buffer | string) =>
      fetch(`${proxy.url}/v1/messages`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body,
      });
    await (await send({ 'x-claude-code-session-id': 'seen-by-header' }, messagesBody(oneCall('short')))).text();
    const inBody = {
      ...JSON.parse(messagesBody(oneCall('short')).toString()),
      metadata: { user_id: 'user_1_session_seen-in-body' },
    };
    await (await send({}, JSON.stringify(inBody))).text();
    await (await send({ session_id: 'seen-codex' }, messagesBody(oneCall('short')))).text();
    await proxy.stop();
    const env = { MCP_PRUNER_DB_PATH: proxy.dbPath };
    const went = async (put: (home: Home) => void, of: Record<string, string> = env): Promise<number> => {
      const home = new Home();
      put(home);
      return (await home.report(of)).throughProxy;
    };
    const project = '.claude/projects/-home-me-api/s.jsonl';
    expect(await went((home) => home.put(project, claudeFile('seen-by-header', 'short')))).toBe(1);
    expect(await went((home) => home.put(project, claudeFile('seen-in-body', 'short')))).toBe(1);
    expect(await went((home) => home.put('.codex/sessions/r.jsonl', codexFile('seen-codex')))).toBe(1);
    expect(await went((home) => home.put('.codex/sessions/r.jsonl', codexFile('never-seen')))).toBe(0);
    // a session about markers that never passed, and the same without a store to ask
    expect(await went((home) => home.put(project, claudeFile('never-seen', marked)))).toBe(0);
    expect(await went((home) => home.put(project, claudeFile('never-seen', marked)), {})).toBe(1);
  });
});
