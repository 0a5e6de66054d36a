import { describe, expect, it } from 'vitest';
import { pruneIdsIn } from '../../src/core/hash.ts';
import { stepAfter } from '../../src/ledger/learning.ts';
import { chatBody, contentAt, type Message, oneResult, toolTurn } from '../helpers/chat.ts';
import { type FakeUpstream, json, startUpstream } from '../helpers/fake-upstream.ts';
import { hasPostgres, sharedDatabase } from '../helpers/postgres.ts';
import { startProxy, type TestProxy } from '../helpers/proxy.ts';
import { manualClock } from '../helpers/rewriter.ts';
import { sourceFile } from '../helpers/texts.ts';

describe('the next boldness step', () => {
  it.each([
    ['stays with too few texts', 0, { cut: 11, regretted: 11 }, 0],
    ['becomes milder where half of the texts are regretted', 0, { cut: 12, regretted: 6 }, -1],
    ['stays where a quarter of a few may be chance', 0, { cut: 16, regretted: 4 }, 0],
    ['becomes milder where a quarter of many cannot be', 0, { cut: 400, regretted: 100 }, -1],
    ['becomes bolder where of many hardly any is regretted', 0, { cut: 400, regretted: 1 }, 1],
    ['stays where nothing of a few was', 0, { cut: 100, regretted: 0 }, 0],
    ['ends at the mildest', -2, { cut: 50, regretted: 50 }, -2],
    ['ends at the boldest', 2, { cut: 5_000, regretted: 0 }, 2],
    ['counts more regrets than texts as all of them', 1, { cut: 20, regretted: 30 }, 0],
  ])('%s', (_, step, seen, next) => {
    expect(stepAfter(step, seen)).toBe(next);
  });
});

const FILE = 'read_file';
/** A file is cut for the question that its call asks; without one it passes whole. */
const ASKED = { context_focus_question: 'Where is the refund of a voucher counted?' };

function reading(i: number): Message[] {
  const args = { path: `src/orders-${i}.ts`, ...ASKED };
  const [system, user, ...turn] = oneResult(sourceFile(80, i), { tool: FILE, args });
  return [system, { ...user, content: `Case ${i}: where is the refund of a voucher counted?` }, ...turn] as Message[];
}

const REST: Message[] = [
  { role: 'assistant', content: 'I look at the log.' },
  { role: 'user', content: 'Go on.' },
];

async function forwarded(upstream: FakeUpstream, proxy: TestProxy, messages: readonly Message[]): Promise<Buffer> {
  const before = upstream.requests.length;
  await (await proxy.chat(chatBody(messages))).text();
  const sent = upstream.requests[before]?.body;
  if (!sent) throw new Error('nothing was forwarded');
  return sent;
}

/** Reads files and asks back what was cut from them, until that has been learnt from. */
async function regretful(upstream: FakeUpstream, proxy: TestProxy, clock: { now: number }): Promise<void> {
  for (let i = 100; i < 114; i++) {
    const [pruneId = ''] = pruneIdsIn((await forwarded(upstream, proxy, reading(i))).toString());
    await proxy.recover(pruneId, 1, 600);
    await proxy.recover(pruneId, 1, 600); // asked for twice it is one text
  }
  clock.now += 61_000;
  await forwarded(upstream, proxy, [...reading(100), ...REST]);
  await proxy.restart(); // what waits is written, and looked at
}

function learnsOn(name: string, envOf: () => Promise<Record<string, string>>): void {
  it(`cuts regretted texts more mildly, and repeats what was sent, on ${name}`, async () => {
    const clock = manualClock(Date.now());
    const upstream = await startUpstream((_, res) =>
      json(res, 200, { model: 'gpt-test', choices: [{ message: { role: 'assistant', content: 'Done.' } }] }),
    );
    const env = await envOf();
    const proxy = await startProxy(upstream, { clock, env });
    const { dbPath } = proxy;
    const old = await forwarded(upstream, proxy, reading(1));
    const before = contentAt(await forwarded(upstream, proxy, reading(2)), 3);
    await regretful(upstream, proxy, clock);
    const [line] = (await proxy.logLines()).filter(({ msg }) => msg === 'cuts become milder');
    expect(line).toMatchObject({ tool: FILE, kind: 'typescript', step: -1, before: 0 });
    // asked for twice a text is one text, and nobody asked for two of them
    expect(Number(line?.texts) - Number(line?.regretted)).toBeGreaterThanOrEqual(2);

    const grown = [
      ...reading(1),
      ...REST,
      ...toolTurn('call_2', FILE, { path: 'src/other.ts', ...ASKED }, sourceFile(60, 2)),
    ];
    const same = old.toString().slice(0, -2);
    const onward = await forwarded(upstream, proxy, grown);
    expect(onward.toString().startsWith(same)).toBe(true);
    const milder = contentAt(await forwarded(upstream, proxy, reading(3)), 3);
    const bold = (text: string): number => text.split('\n').length;
    expect(bold(milder)).toBeGreaterThan(bold(before) * 1.1);

    await proxy.stop();
    const again = await startProxy(upstream, { clock, env, dbPath });
    expect((await forwarded(upstream, again, grown)).equals(onward)).toBe(true);
    expect(contentAt(await forwarded(upstream, again, reading(3)), 3)).toBe(milder);
    const next = contentAt(await forwarded(upstream, again, reading(4)), 3);
    await again.stop();

    const off = await startProxy(upstream, { clock, env: { ...env, MCP_PRUNER_LEARN: 'false' }, dbPath });
    expect((await forwarded(upstream, off, grown)).equals(onward)).toBe(true);
    expect(contentAt(await forwarded(upstream, off, reading(3)), 3)).toBe(milder);
    const fresh = await startProxy(upstream, { clock });
    const asConfigured = contentAt(await forwarded(upstream, fresh, reading(5)), 3);
    expect(contentAt(await forwarded(upstream, off, reading(5)), 3)).toBe(asConfigured);
    expect(bold(next)).toBeGreaterThan(bold(asConfigured) * 1.1);
  });
}

describe('learning from regret', () => {
  learnsOn('a file', async () => ({}));

  describe.skipIf(!hasPostgres)('on a database server', () => {
    const emptyDatabase = sharedDatabase();
    learnsOn('PostgreSQL', async () => ({ MCP_PRUNER_DATABASE_URL: await emptyDatabase() }));
  });
});
