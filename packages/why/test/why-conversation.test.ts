import { describe, expect, it } from 'vitest';
import { run } from '../../../test/cli/fake-io.ts';
import { chatBody, oneResult, toolTurn } from '../../../test/helpers/chat.ts';
import { completion, startUpstream } from '../../../test/helpers/fake-upstream.ts';
import { startProxy } from '../../../test/helpers/proxy.ts';
import { serverLog } from '../../../test/helpers/texts.ts';

const clock = { nowMs: () => Date.now() };
const LOG = serverLog(400);
const FIRST = oneResult(LOG);
const SMALL = [...FIRST, ...toolTurn('c2', 'bash', { command: 'git status' }, 'nothing to commit')];
const AGAIN = [...SMALL, ...toolTurn('c3', 'bash', { command: 'npm start' }, LOG)];

/** The environment of a store in which a conversation was cut, and another was sent with pruning switched off. */
async function recorded(): Promise<Record<string, string>> {
  const upstream = await startUpstream(completion());
  const proxy = await startProxy(upstream);
  const send = async (messages: typeof FIRST, headers: Record<string, string> = {}): Promise<void> => {
    await (await proxy.chat(chatBody(messages), { 'user-agent': 'agent/1.0', ...headers })).text();
  };
  for (const messages of [FIRST, SMALL, AGAIN]) await send(messages);
  await send([...oneResult('short'), { role: 'user', content: 'And now?' }], { 'x-mcp-pruner': 'off' });
  const { dbPath, port } = proxy;
  await proxy.stop();
  return { MCP_PRUNER_DB_PATH: dbPath, MCP_PRUNER_PORT: String(port) };
}

interface Shown {
  readonly conversation: string;
  readonly requests: number;
  readonly left_whole: Readonly<Record<string, number>>;
  readonly texts: readonly { readonly prune_id?: string; readonly left_whole_because?: string }[];
}

describe('the reason why a result was left whole', () => {
  it('is listed in the report and explained for a conversation', async () => {
    const env = await recorded();
    const report = JSON.parse((await run(['report', '--json'], { env, clock })).out) as object;
    expect(report).toMatchObject({
      results: { all: 3, cut: 1 },
      leftWhole: expect.arrayContaining([
        { reason: 'small', texts: 1 },
        { reason: 'reread', texts: 1 },
      ]) as object,
    });
    const text = (await run(['report'], { env, clock, columns: 60 })).out;
    expect(text).toContain('3 new tool results and files: 1 cut, 2 left whole.');
    expect(text).toMatch(/Why results were left whole[\s\S]*it is too small +1\n/);
    expect(text).toMatch(/the agent asked for it a second time +1\n/);

    const events = (await run(['report', '--live', '--once', '--json'], { env, clock })).out.trim().split('\n');
    const cut = events
      .map((line) => JSON.parse(line) as { kind: string; runId: string })
      .find(({ kind }) => kind === 'pruned');
    const id = cut?.runId ?? '';
    const shown = JSON.parse(
      (await run(['why', '--conversation', id.slice(0, 10), '--json'], { env, clock })).out,
    ) as Shown;
    expect(shown).toMatchObject({ conversation: id, requests: 3, left_whole: { small: 1, reread: 1 } });
    expect(shown.texts.map((one) => one.left_whole_because ?? 'cut')).toEqual(['cut', 'reread']);
    const { code, out } = await run(['why', '--conversation', id], { env, clock, columns: 60 });
    expect(code).toBe(0);
    expect(out).toMatch(/3 requests; 1 text cut, by about [\d,]+ tokens; 2 left\s+whole/);
    expect(Math.max(...out.split('\n').map((line) => line.length))).toBeLessThanOrEqual(60);
    expect((await run(['why', '--conversation', 'zzz'], { env, clock })).err).toContain(
      'no conversation has "zzz" in its id or title',
    );

    const [title = ''] = out.split('\n');
    expect(title).toMatch(/\w \w/);
    expect(out.split('\n')[1]).toBe(id);
    // its id is only where it is needed: each command names it by its title
    const shownIn = async (...args: string[]): Promise<string> => (await run(args, { env, clock })).out;
    expect(await shownIn('report')).toMatch(/Conversations, the newest first[\s\S]*default, agent/);
    expect(await shownIn('report')).not.toContain(id);
    expect(JSON.parse(await shownIn('report', '--json'))).toMatchObject({
      newest: expect.arrayContaining([
        expect.objectContaining({ id, title: title.trim(), project: 'default', requests: 3 }),
      ]) as object,
    });
    expect(await shownIn('report', '--live', '--once')).toContain(` ${title.slice(0, 20)}`);
    expect(out.split('\n')[2]).toMatch(/^default, agent/);
    const byTitle = await run(['why', '--conversation', title.slice(2, 20).toUpperCase(), '--json'], { env, clock });
    expect(JSON.parse(byTitle.out)).toMatchObject({ conversation: id, title });

    for (const latest of [['--latest'], ['--conversation', '--latest']]) {
      const newest = (await run(['why', ...latest], { env, clock })).out;
      expect(newest).toMatch(/1 request; nothing cut; \d left whole[\s\S]*pruning was switched off/);
    }
    expect((await run(['why'], { env, clock })).code).toBe(2);
    expect((await run(['why', 'prn_x', '--latest'], { env, clock })).code).toBe(2);

    const live = (await run(['report', '--live', '--once'], { env, clock, columns: 60 })).out;
    expect(live.replaceAll(/\s+/g, ' ')).toContain('left whole: 1: the agent asked for it a second time');
    expect(Math.max(...live.split('\n').map((line) => line.length))).toBeLessThanOrEqual(60);
  });
});

describe('a store other than the running proxy’s', () => {
  it('is named by every command that reads it', async () => {
    const env = await recorded();
    const other = await startProxy(await startUpstream(completion()));
    const shell = { ...env, MCP_PRUNER_PORT: String(other.port) };
    for (const args of [
      ['report'],
      ['status'],
      ['why', '--latest'],
      ['recall', 'payment'],
      ['report', '--live', '--once'],
    ])
      expect((await run(args, { env: shell, clock })).err, args[0]).toContain(
        `the proxy at http://127.0.0.1:${other.port} uses another store`,
      );
    const own = { ...shell, MCP_PRUNER_DB_PATH: other.dbPath };
    expect((await run(['report'], { env: own, clock })).err).toBe('');
    const none = { ...shell, MCP_PRUNER_DB_PATH: `${other.dbPath}.none` };
    expect((await run(['report'], { env: none, clock })).err).toContain(
      'MCP_PRUNER_DB_PATH or MCP_PRUNER_DATABASE_URL names',
    );
  });
});
