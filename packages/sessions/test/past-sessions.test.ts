import { Prices } from '@mcp-pruner/money/prices.ts';
import { loadSettings } from 'mcp-pruner/config/load.ts';
import { edition } from 'mcp-pruner/edition.ts';
import { describe, expect, it } from 'vitest';
import { serverLog, sourceFile } from '../../../test/helpers/texts.ts';
import { FakeProvider, type Piece, type ProviderRules } from '../../ledger/test/fake-provider.ts';
import { type SessionRequest, Thread } from '../src/readers/recorded.ts';
import { ownScales, Scales } from '../src/readers/scale.ts';
import { stringsOf, UsedLines } from '../src/readers/used-lines.ts';
import { compactionsOf } from '../src/report/compactions.ts';
import { PastBill } from '../src/report/past-bill.ts';
import { Rehearsal } from '../src/report/rehearsal.ts';

const RULES: ProviderRules = {
  ...{ automatic: false, minPrefix: 1_024, step: 1, lifetimeMs: 300_000 },
  ...{ input: 5, write: 6.25, read: 0.5, output: 25 },
};
const prices = new Prices([
  {
    path: 'p',
    text: `[[price]]\nmodel = "m"\nprovider = "p"\ninput = 5\ncache_write_5m = 6.25\ncache_read = 0.5\noutput = 25\nmin_prefix = 1024\nday = "2026-11-01"\nsource = "made up"\n`,
  },
]);
const HEAD = 12_000;

function noFile(): string {
  throw Object.assign(new Error('there is no such file'), { code: 'ENOENT' });
}

/** A world: how many characters its tokeniser puts into a token, and whether thinking comes back in the next request. */
interface World {
  readonly perToken: number;
  readonly comesBack: boolean;
}

/** A session of many calls, as its provider bills it; beside it each message with the thinking that stands behind it. */
function session({ perToken, comesBack }: World, seed: number) {
  const tokensOf = (json: string): number =>
    Math.ceil(stringsOf(json).reduce((sum, text) => sum + text.length, 0) / perToken) + 6;
  const provider = new FakeProvider(RULES);
  const thread = new Thread();
  const thoughts = new Map<number, number>();
  const requests: SessionRequest[] = [];
  const piecesOf = (shown: (index: number) => string, length: number): Piece[] => [
    { says: 'head', tokens: HEAD },
    ...Array.from({ length }, (_, i) => ({
      says: `${i} ${shown(i).length}`,
      tokens: tokensOf(shown(i)) + (comesBack ? (thoughts.get(i) ?? 0) : 0),
    })),
  ];
  thread.add({ role: 'user', content: 'Why does the checkout fail? Find the failing payment and mend it.' }, false);
  for (let turn = 0; turn < 14; turn++) {
    const { messages } = thread;
    const thought = 300 + ((turn * 7_919 + seed * 104_729) % 2_500);
    const call = { type: 'tool_use', id: `t${turn}`, name: 'Bash', input: { command: `npm run step-${turn}` } };
    const answer = { role: 'assistant', content: [{ type: 'text', text: `I look at step ${turn}.` }, call] };
    const shown = (i: number): string => messages[i]?.json ?? '';
    const output = tokensOf(JSON.stringify(answer)) + thought;
    const atMs = Date.parse('2026-11-20') + turn * 20_000;
    const usage = provider.request('m', piecesOf(shown, messages.length), output, atMs);
    requests.push({
      ...{ key: `${seed}/${turn}`, thread: 'main', atMs, wire: 'messages', model: 'm', project: 'p', reasoning: null },
      ...{ history: messages, length: messages.length, usage },
    });
    thoughts.set(messages.length, thought);
    thread.add(answer, true);
    const text = turn % 3 === 2 ? sourceFile(20 + turn, seed) : serverLog(80 + ((turn * 37 + seed * 11) % 200), turn);
    thread.add({ role: 'user', content: [{ type: 'tool_result', tool_use_id: `t${turn}`, content: text }] }, false);
  }
  return { requests, provider, piecesOf };
}

async function savedIn(world: World) {
  let [reported, truth, spent] = [0, 0, 0];
  const nothing = {
    platform: 'linux' as const,
    homeDir: '/home/me',
    cwd: '/',
    readFile: noFile,
    configFile: undefined,
  };
  const { settings } = loadSettings({ table: edition.settings, ...nothing, env: { MCP_PRUNER_DB_PATH: ':memory:' } });
  for (let seed = 0; seed < 2; seed++) {
    const { requests, provider, piecesOf } = session(world, seed);
    const pruned = new FakeProvider(RULES);
    const bill = new PastBill(prices);
    const rehearsal = new Rehearsal(settings, { nowMs: () => Date.parse('2026-11-20') });
    const bytesPerToken = new Scales().ofSession(requests)('m');
    for (const request of requests) {
      const rehearsed = await rehearsal.request(request, 'c', bytesPerToken);
      bill.add(request, rehearsed, { counts: true, bytesPerToken });
      pruned.request('m', piecesOf(rehearsed.shown, request.length), request.usage.output ?? 0, request.atMs);
    }
    await rehearsal.close();
    bill.end(requests);
    const { totals } = bill.report('2026-11-01');
    expect(totals.dollars).toBeCloseTo(provider.dollars, 9);
    reported += totals.saved;
    truth += provider.dollars - pruned.dollars;
    spent += provider.dollars;
  }
  return { reported, truth, spent };
}

describe('the possible saving in past sessions', () => {
  it.each([
    { perToken: 4, comesBack: false },
    { perToken: 4, comesBack: true },
    { perToken: 2.8, comesBack: false },
    { perToken: 2.8, comesBack: true },
  ])('is estimated within 3 % despite much hidden reasoning, %o', async (world) => {
    const { reported, truth, spent } = await savedIn(world);
    expect(truth).toBeGreaterThan(0.05 * spent);
    expect(Math.abs(reported / truth - 1)).toBeLessThan(0.03);
  });

  it('is estimated with the scale of all sessions if one session is too short', () => {
    const long = session({ perToken: 2.8, comesBack: false }, 1).requests;
    const short = session({ perToken: 4, comesBack: false }, 2).requests.slice(0, 1);
    const scales = new Scales();
    for (const [model, scale] of ownScales(long)) scales.add(model, scale);
    const own = scales.ofSession(long)('m');
    expect(own).toBeGreaterThan(2.7);
    expect(own).toBeLessThan(3.2);
    expect(scales.ofSession(short)('m')).toBeCloseTo(own, 9);
  });
});

describe('compactions', () => {
  const [first, second, third] = [[], [], []];
  const size = (history: readonly unknown[], tokens: number, removed = 0) => ({ history, tokens, removed });

  it('are recognised by histories that restart shorter, and are fewer with cuts', () => {
    const sizes = [
      ...[size(first, 40_000), size(first, 100_000, 30_000), size(first, 160_000, 60_000)],
      ...[size(second, 20_000), size(second, 100_000, 40_000), size(second, 158_000, 70_000)],
      ...[size(third, 20_000), size(third, 60_000)],
    ];
    expect(compactionsOf(sizes)).toEqual({ count: 2, withCuts: 1 });
    expect(compactionsOf(sizes.map((one) => ({ ...one, removed: 0 })))).toEqual({ count: 2, withCuts: 2 });
    expect(compactionsOf(sizes.slice(0, 3))).toEqual({ count: 0, withCuts: 0 });
  });
});

describe('lines that the model used again', () => {
  const result = (content: string): string =>
    JSON.stringify({ role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content }] });
  const said = (text: string): string => JSON.stringify({ role: 'assistant', content: [{ type: 'text', text }] });

  it('count once each, and count as lost if no result would still contain them', () => {
    const lines = new UsedLines();
    const [one, two] = ['const total = order.total ?? 0;', 'return await chargeOrder(order);'];
    lines.addOtherMessage(result(`${one}\n${two}\n}`), result(`${one}\n}`));
    lines.addModelMessage(said(`I change\n${one}\nand\n${two}`));
    lines.addModelMessage(said(two));
    expect([lines.used, lines.lost]).toEqual([2, 1]);
  });

  it('exclude lines that the user or the model wrote before', () => {
    const lines = new UsedLines();
    const line = 'const total = order.total ?? 0;';
    lines.addOtherMessage(JSON.stringify({ role: 'user', content: line }), '');
    lines.addOtherMessage(result(line), result(''));
    lines.addModelMessage(said(line));
    expect([lines.used, lines.lost]).toEqual([0, 0]);
  });
});
