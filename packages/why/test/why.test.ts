import { reasonInEnglish } from 'mcp-pruner/engine/text/reasons.ts';
import { sqliteDriver } from 'mcp-pruner/store/sqlite/driver.ts';
import { describe, expect, it } from 'vitest';
import { run } from '../../../test/cli/fake-io.ts';
import { contentAt } from '../../../test/helpers/chat.ts';
import { json, startUpstream } from '../../../test/helpers/fake-upstream.ts';
import { markersIn } from '../../../test/helpers/markers.ts';
import { startProxy, type TestProxy } from '../../../test/helpers/proxy.ts';
import { serverLog, sourceFile } from '../../../test/helpers/texts.ts';
import { deepinfraEnv, NOWHERE, pruneText } from '../../backends/test/pruning.ts';
import { type RerankCall, rerankAnswer, startReranker } from '../../backends/test/services.ts';
import { Agent } from '../../context/test/agent.ts';

const Database = sqliteDriver();

const LOG = serverLog(300);

const why = (proxy: TestProxy, ...args: string[]) =>
  run(['why', ...args], { env: { MCP_PRUNER_DB_PATH: proxy.dbPath }, clock: { nowMs: Date.now } });

interface WhyJson {
  readonly explained_by: string;
  readonly goal: string;
  readonly would_cut_today: readonly object[];
  readonly regions: readonly {
    readonly start_line: number;
    readonly end_line: number;
    readonly kept: boolean;
    readonly because: string;
    readonly rule: string | null;
    readonly worth: number | null;
  }[];
}

async function whyAsJson(proxy: TestProxy, pruneId: string): Promise<WhyJson> {
  const { code, out, err } = await why(proxy, pruneId, '--json');
  expect({ code, err }).toEqual({ code: 0, err: '' });
  return JSON.parse(out) as WhyJson;
}

/** A log and a source file through the proxy; the cuts as the markers tell them. */
async function pruned() {
  const upstream = await startUpstream();
  const proxy = await startProxy(upstream, { env: { MCP_PRUNER_INCLUDE_MARKERS: 'full' } });
  const agent = new Agent(proxy, upstream);
  const log = agent.tool('bash', { command: 'npm start' }, LOG);
  await agent.send();
  const asked = { path: 'src/orders.ts', context_focus_question: 'Where is a voucher counted?' };
  const source = agent.tool('read_file', asked, sourceFile(80));
  const body = await agent.send();
  const of = (index: number) => markersIn(contentAt(body, index));
  return { proxy, agent, log, cuts: of(log), sourceCuts: of(source) };
}

/** Changes what the store has of a prune, as another version or another time would have written it. */
function restore(proxy: TestProxy, pruneId: string, change: (body: Record<string, unknown>) => void): void {
  const db = new Database(proxy.dbPath);
  const stored = db.prepare<[string], string>('SELECT body FROM prune WHERE prune_id = ?').pluck().get(pruneId);
  const body = JSON.parse(stored ?? '') as Record<string, unknown>;
  change(body);
  db.prepare('UPDATE prune SET body = ? WHERE prune_id = ?').run(JSON.stringify(body), pruneId);
  db.close();
}

describe('mcp-pruner why', () => {
  it('shows the rule or score that kept or cut each region, and the goal', async () => {
    const { proxy, cuts } = await pruned();
    const id = cuts[0]?.pruneId ?? '';
    const { code, out } = await why(proxy, id);
    expect(code).toBe(0);
    expect(out).toContain('goal: npm start');
    expect(out).toContain('words of the goal that the text has: fail, checkout, payment');
    expect(out).toMatch(/limits: at most 270 of 300 lines may go \(max_prune_ratio 0\.9, min_keep_lines 20\)/);
    expect(out).toMatch(/kept {2}rule failure: reports a failure\n +2026-\S+ ERROR payment/);
    expect(out).toMatch(/kept {2}rule trace: part of a stack trace\n +at chargeOrder/);
    expect(out).toMatch(/kept {2}worth [\d.]+: some of its lines at or above 1\.20/);
    for (const { startLine, endLine, reason } of cuts) {
      const line = out.split('\n').find((shown) => shown.trimStart().startsWith(`${startLine}-${endLine}  cut`));
      expect(line).toMatch(/cut {3}worth 0\.\d\d, below 1\.20/);
      expect(line?.endsWith(`marked "${reasonInEnglish(reason)}"`)).toBe(true);
    }
  });

  it('covers every line once, with cuts exactly at the markers', async () => {
    const { proxy, cuts, sourceCuts } = await pruned();
    for (const markers of [cuts, sourceCuts]) {
      const { regions, explained_by } = await whyAsJson(proxy, markers[0]?.pruneId ?? '');
      expect(explained_by).toBe('ranked');
      let next = 1;
      for (const { start_line, end_line } of regions) {
        expect(start_line).toBe(next);
        next = end_line + 1;
      }
      const cut = regions.filter(({ kept }) => !kept).map(({ start_line, end_line }) => [start_line, end_line]);
      expect(cut).toEqual(markers.map(({ startLine, endLine }) => [startLine, endLine]));
    }
  });

  it('shows only the regions of the requested lines', async () => {
    const { proxy, cuts } = await pruned();
    const [{ pruneId, startLine, endLine } = { pruneId: '', startLine: 0, endLine: 0 }] = cuts;
    const { out } = await why(proxy, pruneId, '--lines', `${startLine + 1}`);
    expect(out.match(/ {2}(?:kept|cut ) {2}/g)).toHaveLength(1);
    expect(out).toContain(`${startLine}-${endLine}  cut`);
    expect(await why(proxy, pruneId, '--lines', '9000')).toMatchObject({
      code: 1,
      out: '',
      err: expect.stringContaining('9000-9000 begins beyond its end'),
    });
    expect(await why(proxy, pruneId, '--lines', 'x')).toMatchObject({ code: 2, out: '' });
  });

  it('does not explain stored cuts if this version would cut elsewhere', async () => {
    const { proxy, cuts } = await pruned();
    const id = cuts[0]?.pruneId ?? '';
    restore(proxy, id, (body) => {
      body.cuts = [[20, 40, 'another version']];
      body.keptLines = 279;
    });
    const { out } = await why(proxy, id);
    expect(out).toContain("This version's engine would cut differently");
    expect(out).toContain(`this version would cut: ${cuts[0]?.startLine}-${cuts[0]?.endLine}`);
    expect(out).toMatch(/20-40 {2}cut {3}cut; its score is not known; marked "another version"\n/);
    expect(out).toMatch(/kept {2}rule failure: reports a failure/);
    expect(out).not.toContain('worth');
    const { regions } = await whyAsJson(proxy, id);
    expect(regions.filter(({ kept }) => !kept)).toMatchObject([{ start_line: 20, end_line: 40, worth: null }]);
    expect(regions.at(-1)?.end_line).toBe(300);
  });

  it('reports that an older version did not store the basis of a prune', async () => {
    const { proxy, cuts } = await pruned();
    const id = cuts[0]?.pruneId ?? '';
    restore(proxy, id, (body) => {
      body.basis = undefined;
    });
    expect((await why(proxy, id)).out).toContain('The inputs of this decision were not stored');
    expect((await whyAsJson(proxy, id)).explained_by).toBe('unrecorded');
  });

  it('reports that a backend took part and that its scores are not stored', async () => {
    const scores = (call: RerankCall) => rerankAnswer(call.documents.map((_, i) => (i % 7 === 0 ? 0.9 : 0.001)));
    const service = await startReranker(() => 0.5);
    service.respond = (res, { body }) => json(res, 200, scores(JSON.parse(body.toString('utf8')) as RerankCall));
    const proxy = await startProxy(NOWHERE, { env: deepinfraEnv(service, { DEEPINFRA_MAX_DOCS: '500' }) });
    const { prune_id, annotations } = await pruneText(proxy, LOG, 'the failing payment', {}, 'logs');
    expect(annotations.length).toBeGreaterThan(0);
    const { out } = await why(proxy, prune_id);
    expect(out).toContain("A backend's scores influenced this decision and were not stored");
    expect(out).not.toContain('worth');
    const { regions } = await whyAsJson(proxy, prune_id);
    expect(regions.filter(({ kept }) => !kept)).toHaveLength(annotations.length);
  });

  it('reports that a segment was stashed on request or deleted', async () => {
    const { proxy, agent, log } = await pruned();
    agent.chatter();
    await agent.send();
    const { segment_id } = await agent.candidate(/command output by bash/);
    await agent.prune([segment_id]);
    const id = markersIn(await agent.sendAndSee(log))[0]?.pruneId ?? '';
    const { out } = await why(proxy, id);
    expect(out).toContain('Nothing was ranked: the whole text was replaced by one marker.');
    expect(out).toMatch(
      /1-300 {2}cut {3}stashed as a whole, on request or because of the token budget; marked "set aside"/,
    );

    await agent.prune([segment_id], 'delete', { confirm: true });
    const gone = await why(proxy, id);
    expect(gone).toMatchObject({ code: 1, out: '' });
    expect(gone.err).toMatch(/^mcp-pruner: the store has no "prn_\w+": [^\n]+ was deleted\n$/);
  });

  it('explains why a text given to prune_text was left whole', async () => {
    const proxy = await startProxy(NOWHERE);
    const small = await pruneText(proxy, 'one\ntwo\nthree\nfour\nfive\nsix\nseven\n', 'four', {});
    expect((await why(proxy, small.prune_id)).out).toContain('left whole: cutting it would have saved too little');
    const bound = await pruneText(proxy, 'one\ntwo\n', 'two', { min_keep_lines: 9 });
    expect(bound.warnings).toEqual(['constraints_unmet']);
    expect((await why(proxy, bound.prune_id)).out).toContain('it was left whole (its limits cannot be met)');
  });

  it('reports an unknown id in one line', async () => {
    const proxy = await startProxy(NOWHERE);
    expect(await why(proxy, 'prn_ZZZZZZZZZZZZ')).toEqual({
      code: 1,
      out: '',
      err: 'mcp-pruner: the store has no "prn_ZZZZZZZZZZZZ": it is unknown here, has expired or was deleted\n',
    });
  });
});
