import { describe, expect, it } from 'vitest';
import { run } from '../cli/fake-io.ts';
import { chatBody, type Message, oneResult } from '../helpers/chat.ts';
import { type FakeUpstream, startUpstream } from '../helpers/fake-upstream.ts';
import { startProxy, type TestProxy } from '../helpers/proxy.ts';
import { serverLog } from '../helpers/texts.ts';
import { until } from '../helpers/until.ts';

const clock = { nowMs: () => Date.now() };

/** Changes settings as an operator does. */
async function set(proxy: TestProxy, project: string, ...args: string[]): Promise<void> {
  const { code, err } = await run(['projects', 'set', project, ...args], {
    env: { MCP_PRUNER_DB_PATH: proxy.dbPath },
    clock,
  });
  expect([code, err]).toEqual([0, '']);
}

/** What the provider received of a conversation about a log. */
async function forwarded(
  proxy: TestProxy,
  upstream: FakeUpstream,
  project: string,
  seed: number,
  more: readonly Message[] = [],
) {
  const body = chatBody([...oneResult(serverLog(400, seed)), ...more]);
  await proxy.chat(body, { 'x-mcp-pruner-project': project });
  const { body: received } = upstream.requests.at(-1) ?? { body: Buffer.alloc(0) };
  return { received, isWhole: received.equals(body) };
}

const ANSWERED: readonly Message[] = [
  { role: 'assistant', content: 'It is the payment.' },
  { role: 'user', content: 'Go on.' },
];

describe('settings of a project', () => {
  it('apply to new texts of that project within a second; earlier messages are repeated as sent', async () => {
    const upstream = await startUpstream();
    const proxy = await startProxy(upstream);
    let seed = 2;
    /** A new text of the project, once it is forwarded whole, or cut. */
    const onceWhole = (project: string, isWhole: boolean) =>
      until(async () => {
        const sent = await forwarded(proxy, upstream, project, seed++);
        return sent.isWhole === isWhole && sent;
      });
    const first = await forwarded(proxy, upstream, 'web', 1);
    expect([first.isWhole, first.received.toString()]).toEqual([false, expect.stringMatching(/journal|hors focus/)]);
    await set(proxy, 'web', '--never-prune-tools', 'run_*,bash,read_file,execute*,*', '--language', 'en');
    await onceWhole('web', true);
    const next = await forwarded(proxy, upstream, 'web', 1, ANSWERED);
    const prefix = first.received.toString().slice(0, first.received.toString().lastIndexOf('prune_id='));
    expect(next.received.toString().startsWith(prefix)).toBe(true);
    expect((await forwarded(proxy, upstream, 'api', seed++)).isWhole).toBe(false);
    await set(proxy, 'web', '--never-prune-tools', 'none');
    const english = await onceWhole('web', false);
    expect(english.received.toString()).not.toMatch(/journal|hors focus/);
    const again = await forwarded(proxy, upstream, 'web', 1, [...ANSWERED, ...ANSWERED]);
    expect(again.received.toString().startsWith(prefix)).toBe(true);

    await set(proxy, 'api', '--mode', 'shadow', '--holdout', '0');
    await onceWhole('api', true);
    await set(proxy, 'web', '--holdout', '1');
    await onceWhole('web', true);
    await set(proxy, 'web', '--mode', 'off', '--holdout', 'none');
    await onceWhole('web', true);
    const lines = await proxy.requestLines(8);
    expect(lines.filter(({ shadow }) => shadow === true)).toHaveLength(1);

    const env = { MCP_PRUNER_DB_PATH: proxy.dbPath };
    const history = await run(['projects', 'history', 'web', '--json'], { env });
    const rows = history.out
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { settings: object; author: string });
    expect(rows.map(({ settings }) => settings)).toEqual([
      { language: 'en', mode: 'off' },
      { language: 'en', holdout: 1 },
      { language: 'en' },
      { neverPruneTools: ['run_*', 'bash', 'read_file', 'execute*', '*'], language: 'en' },
    ]);
    expect(rows[0]?.author).toMatch(/^cli:/);
  });

  it.each([
    [['set', 'web'], 'needs one of --mode'],
    [['set', 'web', '--mode', 'on'], 'prune, shadow or off'],
    [['set', 'web', '--holdout', '2'], '0 to 1'],
    [['set', 'web', '--dollars-per-month', '-5'], 'above 0'],
    [['set'], 'needs a project'],
    [['show'], 'expected one of list, set, history'],
  ])('%j is refused with the allowed values', async (args, words) => {
    const { code, err } = await run(['projects', ...args], { env: {} });
    expect([code, err]).toEqual([2, expect.stringContaining(words)]);
  });
});
