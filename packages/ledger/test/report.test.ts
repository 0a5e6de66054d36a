import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pricesOf } from '@mcp-pruner/money/installed-prices.ts';
import { readNewest } from 'mcp-pruner/cli/conversations.ts';
import { pruneIdsIn } from 'mcp-pruner/core/hash.ts';
import type { LedgerReport } from 'mcp-pruner/core/ports/ledger-report.ts';
import { edition } from 'mcp-pruner/edition.ts';
import { describe, expect, it } from 'vitest';
import { run } from '../../../test/cli/fake-io.ts';
import { tempFolder } from '../../../test/helpers/afterwards.ts';
import { type FakeUpstream, json, startUpstream } from '../../../test/helpers/fake-upstream.ts';
import { makeStore } from '../../../test/helpers/new-store.ts';
import { startProxy, type TestProxy } from '../../../test/helpers/proxy.ts';
import { openStore } from '../../../test/helpers/rewriter.ts';
import { serverLog, sourceFile } from '../../../test/helpers/texts.ts';
import { Agent } from '../../context/test/agent.ts';
import { readReport } from '../src/ledger.ts';
import { reportOf } from '../src/report.ts';

const MODEL = 'a-priced-model';
const PRICES = `[[price]]
model = "*"
provider = "fake"
input = 10.0
cache_read = 1.0
output = 0.0
min_prefix = 0
cache_step = 128
day = "2026-11-23"
source = "made up"
`;

function priceFile(text = PRICES): string {
  const path = join(tempFolder(), 'prices.toml');
  writeFileSync(path, text);
  return path;
}

/** Answers without a word of what was used, or with it. */
const answering = (usage: object | null) =>
  startUpstream((_, res) =>
    json(res, 200, {
      model: MODEL,
      choices: [{ message: { role: 'assistant', content: 'ok' } }],
      ...(usage && { usage }),
    }),
  );

const USED = { prompt_tokens: 50_000, completion_tokens: 10, prompt_tokens_details: { cached_tokens: 0 } };

/** What the ledger holds once the proxy is gone. */
async function reportFrom(proxy: TestProxy): Promise<LedgerReport> {
  await proxy.stop();
  return readReport(openStore(proxy.dbPath).ledger, { sinceDay: '2000-01-01' });
}

/** The regretted tokens of each conversation, whose sum is the total. */
async function regretOfConversations({ dbPath }: TestProxy): Promise<number[]> {
  const found = await openStore(dbPath).ledger.conversations({ sinceMs: 0, limit: 99 });
  return found.map(({ regretTokens }) => regretTokens);
}

/** An agent that has read a file of which lines were cut. */
async function reader(upstream: FakeUpstream, env: Record<string, string> = {}) {
  const proxy = await startProxy(upstream, { env: { MCP_PRUNER_PRICES: priceFile(), ...env } });
  const agent = new Agent(proxy, upstream);
  const text = sourceFile(60);
  agent.tool('read_file', { path: 'src/orders.ts', ...ASKED }, text);
  await agent.send();
  const sent = upstream.last.body.toString();
  const cutLine = text.split('\n').find((line) => line.includes("'store of") && !sent.includes(line.slice(4, -3)));
  return { proxy, agent, text, sent, cutLine: cutLine ?? '' };
}

/** A file is cut for the question that its call asks; without one it passes whole. */
const ASKED = { context_focus_question: 'Where is a voucher counted?' };
const fileOf = ({ tools }: LedgerReport) => tools.find(({ tool }) => tool === 'read_file');

describe('regret', () => {
  it('includes a line that is recovered', async () => {
    const { proxy, sent } = await reader(await answering(USED));
    await proxy.requestLines(1);
    await proxy.recover(pruneIdsIn(sent)[0] ?? '', 1, 40);
    const report = await reportFrom(proxy);
    expect(fileOf(report)).toMatchObject({ regrets: { recovered: 1, reread: 0, quoted: 0 }, texts: 1, cut: 1 });
    const { regretTokens = 0, regretDollars } = fileOf(report) ?? {};
    expect(regretTokens).toBeGreaterThan(100);
    expect(regretDollars).toBeCloseTo((regretTokens * 10) / 1e6, 9);
    expect(report.totals).toMatchObject({ regretTokens, regretDollars });
    expect(await regretOfConversations(proxy)).toEqual([regretTokens]);
    expect(report.totals.net).toBeCloseTo(report.totals.gross - (regretDollars ?? 0), 9);
    // models and conversations add up to the same saving
    expect(report.models.reduce((sum, { net }) => sum + net, 0)).toBeCloseTo(report.totals.net, 9);
    const listed = await readNewest(openStore(proxy.dbPath), { sinceMs: 0, limit: 9 });
    expect(listed.reduce((sum, { saved }) => sum + (saved ?? 0), 0)).toBeCloseTo(report.totals.net, 9);
  });

  it('counts in its project and at its price if a line is recovered after a restart', async () => {
    const upstream = await answering(USED);
    const proxy = await startProxy(upstream, { env: { MCP_PRUNER_PRICES: priceFile() } });
    const agent = new Agent(proxy, upstream, { 'x-mcp-pruner-project': 'shop' });
    agent.tool('read_file', { path: 'src/orders.ts', ...ASKED }, sourceFile(60));
    await agent.send();
    const [pruneId = ''] = pruneIdsIn(upstream.last.body.toString());
    await proxy.stop();
    await proxy.start();
    await proxy.recover(pruneId, 1, 40);
    await proxy.stop();
    const { ledger } = openStore(proxy.dbPath);
    const ofShop = await readReport(ledger, { sinceDay: '2000-01-01', project: 'shop' });
    const { regretTokens = 0, regretDollars } = fileOf(ofShop) ?? {};
    expect(regretTokens).toBeGreaterThan(100);
    expect(regretDollars).toBeCloseTo((regretTokens * 10) / 1e6, 9);
    expect((await readReport(ledger, { sinceDay: '2000-01-01', project: 'default' })).tools).toEqual([]);
    expect(await regretOfConversations(proxy)).toEqual([regretTokens]);
  });

  it('includes a file that is read again', async () => {
    const { proxy, agent, text } = await reader(await answering(USED));
    agent.tool('read_file', { path: 'src/orders.ts', ...ASKED }, text);
    await agent.send();
    const report = await reportFrom(proxy);
    expect(fileOf(report)?.regrets).toEqual({ recovered: 0, reread: 1, quoted: 0 });
    expect(fileOf(report)?.regretTokens).toBeGreaterThan(1_000);
  });

  it('includes a cut line that an edit quotes, but no line that was shown', async () => {
    const { proxy, agent, cutLine } = await reader(await answering(USED));
    expect(cutLine).not.toBe('');
    agent.tool('edit_file', { path: 'src/orders.ts', old_string: cutLine, new_string: '' }, 'done');
    await agent.send();
    const shown = "import { database } from './database.ts';";
    agent.tool('edit_file', { path: 'src/orders.ts', old_string: shown, new_string: '' }, 'done');
    await agent.send();
    expect(fileOf(await reportFrom(proxy))?.regrets).toEqual({ recovered: 0, reread: 0, quoted: 1 });
  });
});

describe('new results', () => {
  it('are cut or left whole for a reason: each counts once, also after refusals, repetitions and a restart', async () => {
    const upstream = await answering(USED);
    const proxy = await startProxy(upstream, { env: { MCP_PRUNER_PRICES: priceFile() } });
    const answer = upstream.answer;
    const agent = new Agent(proxy, upstream);
    const refusedTwice = async (): Promise<void> => {
      upstream.answer = (_, res) => json(res, 429, { error: { message: 'slow down' } });
      for (let i = 0; i < 2; i++) await expect(agent.send()).rejects.toThrow('429');
      upstream.answer = answer;
    };
    agent.tool('read_file', { path: 'src/orders.ts', ...ASKED }, sourceFile(60)); // cut
    await agent.send();
    agent.tool('bash', { command: 'npm start' }, serverLog(300)); // cut
    await refusedTwice();
    await agent.send();
    await agent.send(); // the same once more
    agent.tool('bash', { command: 'git status' }, 'nothing to commit'); // small
    await refusedTwice();
    await agent.send();
    agent.tool('bash', { command: 'npm start' }, serverLog(300)); // asked for again
    await agent.send();
    await proxy.stop();
    await proxy.start();
    await agent.send();
    const off = new Agent(proxy, upstream, { 'x-mcp-pruner': 'off' }, [{ role: 'user', content: 'Look once more.' }]);
    off.tool('bash', { command: 'npm start' }, serverLog(310));
    await off.send();
    const { results, leftWhole, tools, notes } = await reportFrom(proxy);
    const sum = (counts: readonly number[]): number => counts.reduce((all, one) => all + one, 0);
    expect(results.all).toBe(results.cut + sum(leftWhole.map(({ texts }) => texts)));
    expect(sum(tools.map(({ cut }) => cut))).toBe(results.cut);
    expect([results, Object.fromEntries(leftWhole.map(({ reason, texts }) => [reason, texts]))]).toEqual([
      { all: 4, cut: 2 },
      { small: 1, reread: 1 },
    ]);
    expect(notes).toContain('1 request was forwarded unread, as pruning was switched off: no result of it is counted');
  });

  it('of a conversation in the control group are left whole for that reason, and no tool counts them', async () => {
    const upstream = await answering(USED);
    const proxy = await startProxy(upstream, { env: { MCP_PRUNER_PRICES: priceFile(), MCP_PRUNER_HOLDOUT: '1' } });
    const agent = new Agent(proxy, upstream);
    agent.tool('bash', { command: 'npm start' }, serverLog(300));
    await agent.send();
    agent.tool('bash', { command: 'git status' }, 'nothing to commit');
    await agent.send();
    await agent.send();
    const { results, leftWhole, tools } = await reportFrom(proxy);
    expect([results, leftWhole, tools]).toEqual([{ all: 2, cut: 0 }, [{ reason: 'held_out', texts: 2 }], []]);
  });

  it('of a version that recorded no reasons are left whole for an unrecorded one', () => {
    const sum = { day: '', project: '', slice: 'tool', key: 'bash\tlog' } as const;
    const sums = [
      { ...sum, field: 'texts', value: 9 },
      { ...sum, field: 'cut', value: 4 },
      { ...sum, slice: 'whole', key: 'file', field: 'left', value: 2 } as const,
      { ...sum, slice: 'whole', key: 'file', field: 'texts', value: 77 } as const, // counted by requests
    ];
    expect(reportOf({ sinceDay: '2026-11-01' }, sums, [])).toMatchObject({
      results: { all: 9, cut: 4 },
      leftWhole: [
        { reason: 'unrecorded', texts: 3 },
        { reason: 'file', texts: 2 },
      ],
    });
  });
});

describe('unreported usage', () => {
  it('is estimated, with a note', async () => {
    const upstream = await answering(null);
    const { proxy, agent } = await reader(upstream);
    const first = upstream.last.body.length;
    agent.chatter(1);
    await agent.send();
    const { totals, misses } = await reportFrom(proxy);
    expect(totals).toMatchObject({ requests: 2, estimated: 2, output: 1 });
    // a byte is a quarter of a token; what the first request left in the cache is read
    expect(totals.read).toBeGreaterThan(0.8 * (first / 4) - 128);
    expect(totals.fresh + totals.read).toBeCloseTo((first + upstream.last.body.length) / 4, -1);
    expect(totals.dollars).toBeCloseTo((totals.fresh * 10 + totals.read) / 1e6, 6);
    expect(totals.gross).toBeGreaterThan(0);
    expect(misses).toEqual([]);
  });
});

describe('shadow mode', () => {
  it('reports what would have been cut and saved, and counts nothing as saved', async () => {
    const { proxy, agent, sent, text } = await reader(await answering(USED), { MCP_PRUNER_MODE: 'shadow' });
    expect(sent).toContain(JSON.stringify(text).slice(1, 2_000));
    agent.tool('bash', { command: 'npm start' }, serverLog(300));
    await agent.send();
    const report = await reportFrom(proxy);
    expect(report.totals).toMatchObject({ requests: 2, gross: 0, removed: 0, removedNew: 0 });
    expect(report.totals.wouldRemove).toBeGreaterThan(2_000);
    expect(report.totals.wouldSave).toBeCloseTo((report.totals.wouldRemove * 10) / 1e6, 2);
    expect(report.tools.map(({ tool, texts, cut }) => [tool, texts, cut])).toEqual(
      expect.arrayContaining([
        ['read_file', 1, 0],
        ['bash', 1, 0],
      ]),
    );
  });
});

describe('a configured price file', () => {
  it('does not stop the proxy if it is broken: log and report name it, and other prices apply', async () => {
    const path = priceFile('price = 3');
    const { proxy } = await reader(await answering(USED), { MCP_PRUNER_PRICES: path });
    const { totals, notes } = await reportFrom(proxy);
    expect(totals).toMatchObject({ requests: 1, unpriced: 1, dollars: 0, fresh: 50_000 });
    expect(notes).toEqual(['1 request of gpt-test without a price']);
    const line = `price file broken: ${path}: price: `;
    expect(await proxy.logText()).toContain(line);
    const env = { MCP_PRUNER_PRICES: path, MCP_PRUNER_DB_PATH: proxy.dbPath };
    const { code, out } = await run(['report', '--since', '10y'], { env });
    expect([code, out.replaceAll(/\n {2}/g, ' ')]).toEqual([0, expect.stringContaining(line)]);
    expect(out).toContain('1 request of gpt-test without a price');
    const checked = await run(['doctor', '--json'], { env });
    expect([checked.code, checked.out]).toEqual([1, expect.stringContaining(line)]);
    expect(checked.out).toContain('1 request of gpt-test without a price');
  });
});

describe('cache writes with a long lifetime', () => {
  it('are reported for models that have no price for them, and only for those', async () => {
    const dbPath = join(tempFolder(), 'store.db');
    makeStore(dbPath, edition.tables);
    const store = openStore(dbPath);
    const sums = ['gpt-6-sol', 'claude-opus-5', 'unknown'].map((key) => {
      const of = { day: '2026-11-02', project: '', slice: 'model', field: 'write1h' } as const;
      return { ...of, key, value: 30_000 };
    });
    await store.ledger.add([], sums);
    const { notes } = await readReport(store.ledger, { sinceDay: '2026-11-01' }, pricesOf({ prices: null }));
    const short =
      '30,000 tokens of gpt-6-sol, written to the cache with a long lifetime, are priced short: no price is known';
    expect(notes).toEqual([short]);
    const at = { env: { MCP_PRUNER_DB_PATH: dbPath }, clock: { nowMs: () => Date.parse('2026-11-05') } };
    expect((await run(['report'], at)).out.replaceAll(/\s+/g, ' ')).toContain(short);
    const { out } = await run(['doctor', '--json'], at);
    expect(out).toContain(short);
    expect(out.split('priced short')).toHaveLength(2);
  });
});

describe('texts that stayed whole because time ran out', () => {
  it('are reported with their requests and the reason', () => {
    const sum = {
      day: '2026-11-20',
      project: 'p',
      slice: 'whole',
      key: 'timeout',
      field: 'requests',
      value: 3,
    } as const;
    const { notes } = reportOf({ sinceDay: '2026-11-01' }, [sum, { ...sum, project: 'q' }], []);
    expect(notes).toEqual([expect.stringMatching(/^6 requests without new cuts \(timeout\): .* passed whole; .*busy/)]);
  });
});

describe('models without a price', () => {
  it('are listed: the ten with the most requests by name, the others by number', () => {
    const sums = Array.from({ length: 13 }, (_, i) =>
      Object.entries({ requests: i + 1, unpriced: i + 1 }).map(([field, value]) => ({
        ...({ day: '2026-11-20', project: 'p', slice: 'model', key: `m${i}`, field, value } as const),
      })),
    ).flat();
    const { notes } = reportOf({ sinceDay: '2026-11-01' }, sums, []);
    expect(notes.slice(0, 2)).toEqual(['13 requests of m12 without a price', '12 requests of m11 without a price']);
    expect(notes.slice(-2)).toEqual(['4 requests of m3 without a price', 'and 3 other models']);
    expect(notes).toHaveLength(11);
  });
});
