import { describe, expect, it } from 'vitest';
import { run } from '../cli/fake-io.ts';
import { chatBody, oneResult } from '../helpers/chat.ts';
import { startUpstream } from '../helpers/fake-upstream.ts';
import { startProxy, type TestProxy } from '../helpers/proxy.ts';
import { serverLog } from '../helpers/texts.ts';
import { until } from '../helpers/until.ts';

const ask = async (proxy: TestProxy, seed: number, tool = 'bash'): Promise<void> => {
  const body = chatBody(oneResult(`run ${seed}\n${serverLog(300, seed)}`, { id: `call_${seed}`, tool }));
  await (await proxy.chat(body)).text();
};
const warnings = async (proxy: TestProxy) =>
  (await proxy.logLines()).filter(({ reason }) => reason === 'nothing_saved');

async function findings(proxy: TestProxy): Promise<{ readonly level: string; readonly what: string }[]> {
  const env = { MCP_PRUNER_PORT: String(proxy.port), MCP_PRUNER_DB_PATH: proxy.dbPath };
  const { out } = await run(['doctor', '--json'], { env });
  return (JSON.parse(out) as { level: string; what: string }[]).filter(({ what }) => what.startsWith('nothing was'));
}

async function pageNotes(proxy: TestProxy): Promise<readonly string[]> {
  const answer = await fetch(`${proxy.url}/page/api/ledger?days=7`);
  return ((await answer.json()) as { notes: readonly string[] }).notes;
}

describe('requests with large results that save nothing', () => {
  it('are logged once with the cause, and shown by doctor and the page until something is saved', async () => {
    const env = { MCP_PRUNER_NEVER_PRUNE_TOOLS: 'bash' };
    const proxy = await startProxy(await startUpstream(), { env, alarmAfter: 3 });
    for (const seed of [1, 2]) await ask(proxy, seed);
    await proxy.requestLines(2);
    expect(await warnings(proxy)).toEqual([]);

    for (const seed of [3, 4]) await ask(proxy, seed);
    await proxy.requestLines(4);
    const shown = expect.stringMatching(/last 4 requests .* settings .*\(exempt\)$/);
    expect(await warnings(proxy)).toEqual([
      expect.objectContaining({ level: 'warn', cause: 'settings', code: 'exempt', requests: 3 }),
    ]);
    expect(await findings(proxy)).toEqual([expect.objectContaining({ level: 'note', what: shown })]);
    expect((await pageNotes(proxy))[0]).toContain('the settings leave these texts whole (exempt)');

    await ask(proxy, 5, 'run_shell');
    await proxy.requestLines(5);
    expect([await findings(proxy), await pageNotes(proxy)]).toEqual([[], [expect.stringContaining('without a price')]]);
  });

  it('raise the alarm earlier if the day before saved something', async () => {
    let nowMs = Date.UTC(2026, 10, 2, 12);
    const env = { MCP_PRUNER_NEVER_PRUNE_TOOLS: 'bash' };
    const options = { env, alarmAfter: 10, clock: { nowMs: () => nowMs } };
    const proxy = await startProxy(await startUpstream(), options);
    await ask(proxy, 1, 'run_shell');
    await proxy.requestLines(1);
    await proxy.restart(); // writes the ledger
    nowMs += 86_400_000;
    for (let seed = 2; seed < 6; seed++) await ask(proxy, seed);
    await proxy.requestLines(5);
    expect(await warnings(proxy)).toEqual([]);
    const [warning] = await until(async () => {
      await ask(proxy, 6);
      const found = await warnings(proxy);
      return found.length > 0 && found;
    });
    expect(warning).toMatchObject({ cause: 'settings', code: 'exempt' });
    expect(Number(warning?.requests)).toBeLessThan(10);
  });

  it('are counted even if the kill switch is on', async () => {
    const env = { MCP_PRUNER_ENABLED: 'false' };
    const proxy = await startProxy(await startUpstream(), { env, alarmAfter: 2 });
    for (const seed of [1, 2]) {
      const body = chatBody(oneResult(serverLog(1_200, seed)));
      await (await proxy.chat(body)).text();
    }
    await proxy.requestLines(2);
    expect(await findings(proxy)).toEqual([
      expect.objectContaining({ what: expect.stringContaining('(MCP_PRUNER_ENABLED)') }),
    ]);
  });
});
