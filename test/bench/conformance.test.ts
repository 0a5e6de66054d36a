import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from 'vitest';
import { Correspondent } from '../../bench/conformance/correspondent.ts';
import { planOf } from '../../bench/conformance/plan.ts';
import { failingLines, planLines } from '../../bench/conformance/report.ts';
import { isBroken, type OpenTarget, runPlan } from '../../bench/conformance/run.ts';
import { BETA } from '../../bench/conformance/summaries.ts';
import { ForeignTarget, OwnTarget, type Target } from '../../bench/conformance/target.ts';
import type { Json, Plan } from '../../bench/conformance/types.ts';
import { CheckingUpstream } from '../../bench/conformance/upstream.ts';
import { coldProgram } from '../helpers/built.ts';

/** What many do: results that are not among the newest entries are cut to their first 20 characters. */
async function shorteningProxy(origin: string): Promise<Target> {
  const shortened = (entries: readonly Json[]): Json[] =>
    entries.map((entry, i) => {
      if (i >= entries.length - 4) return entry;
      if (typeof entry.output === 'string') return { ...entry, output: entry.output.slice(0, 20) };
      if (!Array.isArray(entry.content)) return entry;
      const cut = (block: Json): Json =>
        typeof block.content === 'string' ? { ...block, content: block.content.slice(0, 20) } : block;
      return { ...entry, content: (entry.content as Json[]).map(cut) };
    });
  const server = createServer(async (req, res) => {
    const chunks: Buffer[] = [];
    for await (const chunk of req) chunks.push(chunk as Buffer);
    const body = JSON.parse(Buffer.concat(chunks).toString('utf8')) as Json;
    const list = Array.isArray(body.input) ? 'input' : 'messages';
    const sent = JSON.stringify({ ...body, [list]: shortened(body[list] as Json[]) });
    const stop = new AbortController();
    res.once('close', () => stop.abort());
    try {
      const headers = { 'content-type': 'application/json' };
      const answer = await fetch(`${origin}${req.url}`, { method: 'POST', headers, body: sent, signal: stop.signal });
      res.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' });
      res.end(await answer.text());
    } catch {
      res.destroy();
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const target = new ForeignTarget(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  return Object.assign(target, {
    close: async () => {
      server.closeAllConnections();
      server.close();
    },
  });
}

describe('the conformance kit', () => {
  it('plans the same actions for the same seed', () => {
    const options = { agents: 4, turns: 10, hasControl: true };
    expect(planOf(7, options)).toEqual(planOf(7, options));
    expect(planOf(8, options)).not.toEqual(planOf(7, options));
    const kinds = new Set(planOf(1, { agents: 20, turns: 40, hasControl: true }).steps.map(({ kind }) => kind));
    expect([...kinds]).toEqual(expect.arrayContaining(['turn', 'fork', 'compact', 'settings', 'kill']));
  });

  it('finds no changed item behind this product, and recovers every cut', async () => {
    const plan = planOf(300, { agents: 3, turns: 4, hasControl: true });
    const outcome = await runPlan(plan, async ({ origin }) => {
      const target = { programs: [coldProgram()] as const, upstream: origin, database: null };
      return new OwnTarget(target);
    });
    expect(outcome.requests).toBeGreaterThan(10);
    expect(outcome.recovered).toBeGreaterThan(0);
    expect({ ...outcome, isBroken: isBroken(outcome) }).toMatchObject({
      breaks: [],
      failed: [],
      lost: [],
      isBroken: false,
    });
  }, 240_000);

  it('replays a failing run of a proxy that shortens old results, and shrinks it to a few steps', async () => {
    const plan = planOf(3, { agents: 3, turns: 5, hasControl: false, wires: ['messages', 'responses'], isPlain: true });
    const direct: OpenTarget = async ({ origin }) => new ForeignTarget(origin);
    const outcomes = [await runPlan(plan, direct), await runPlan(plan, direct)];
    expect(outcomes[1]).toEqual(outcomes[0]);
    expect(outcomes[0]).toMatchObject({ breaks: [], failed: [] });
    const shortening: OpenTarget = async ({ origin }) => shorteningProxy(origin);
    const broken = await runPlan(plan, shortening);
    const { breaks } = broken;
    expect(breaks.length).toBeGreaterThan(0);
    const [{ was, is } = { was: '', is: '' }] = breaks;
    const shown = planLines(plan, broken);
    expect(shown[0]).toContain(`, ${breaks.length} breaks, `);
    expect(shown.slice(2, 4)).toEqual([`    was ${JSON.stringify(was)}`, `    is  ${JSON.stringify(is)}`]);
    expect(await runPlan(plan, shortening)).toMatchObject({ breaks });
    const [said, printed = ''] = await failingLines(plan, shortening, 1_000);
    expect(said).toMatch(/^seed 3 fails with \d+ of \d+ steps; run it again with --plan FILE:$/);
    const small = JSON.parse(printed) as Plan;
    expect(small.steps.length).toBeLessThan(plan.steps.length);
    expect((await runPlan(small, shortening)).breaks.length).toBeGreaterThan(0);
  });

  it.each([
    ['as it came', (block: Json) => ({ role: 'assistant', content: [block] }), {}, ''],
    [
      'changed',
      (block: Json) => ({ role: 'assistant', content: [{ ...block, content: 'x' }] }),
      {},
      'signature_invalid',
    ],
    ['by the user', (block: Json) => ({ role: 'user', content: [block] }), {}, 'not_first'],
    ['with other words', (block: Json) => ({ role: 'assistant', content: [block, { type: 'text' }] }), {}, 'not_first'],
    ['twice', (block: Json) => ({ role: 'assistant', content: [block, block] }), {}, 'several_blocks'],
    ['of another model', (block: Json) => ({ role: 'assistant', content: [block] }), { model: 'b' }, 'other_model'],
    ['without the beta', (block: Json) => ({ role: 'assistant', content: [block] }), { beta: '' }, 'beta_missing'],
  ])(
    'a summary %s is judged as documented',
    async (_how, carried, { model = 'a', beta = BETA }: { model?: string; beta?: string }, code) => {
      const upstream = new CheckingUpstream();
      const agent = new Correspondent('one', 'messages', true);
      upstream.add(agent);
      await upstream.start();
      const post = async (body: Json, betas: string): Promise<Json> => {
        const init = { method: 'POST', headers: { 'anthropic-beta': betas }, body: JSON.stringify(body) };
        return (await fetch(`${upstream.origin}/v1/messages`, init)).json() as Promise<Json>;
      };
      const head = { model: 'a', metadata: { user_id: 'one' }, system: 'x' };
      const messages: Json[] = [
        { role: 'user', content: 'Repair it.' },
        { role: 'assistant', content: 'Done.' },
      ];
      const kept = { role: 'user', content: 'Now the tests.' };
      await post({ ...head, messages: [...messages, kept] }, '');
      const made = await post({ ...head, messages, compaction: { type: 'summarize' } }, BETA);
      const [block] = made.content as [Json];
      const answer = await post({ ...head, model, messages: [carried(block), kept] }, beta);
      expect(String((answer.error as Json | undefined)?.message ?? '')).toBe(code && `compaction_${code}`);
      expect(agent.breaks).toHaveLength(code === '' ? 0 : 1);
      // the message behind the block is missing
      if (code === '')
        await post({ ...head, messages: [carried(block), { role: 'user', content: 'Other words.' }] }, BETA);
      expect(agent.breaks).toHaveLength(1);
      await upstream.close();
    },
  );

  it('answers unknown clients, and treats a title request and the task as two conversations', async () => {
    const upstream = new CheckingUpstream((_wire, { messages, tools }) =>
      tools === undefined
        ? { says: 'Billing', calls: [] }
        : {
            says: `${(messages as Json[]).length} so far`,
            calls: [{ name: 'Bash', args: { command: 'cat app.log' } }],
          },
    );
    await upstream.start();
    const thinking = { type: 'adaptive' };
    const loaded = { name: 'mcp__db__query', defer_loading: true };
    const post = async (messages: readonly object[], head: object) => {
      const init = { method: 'POST', body: JSON.stringify({ model: 'claude', messages, ...head }) };
      const answer = await fetch(`${upstream.origin}/v1/messages`, init);
      return { status: answer.status, content: ((await answer.json()) as { content?: object[] }).content ?? [] };
    };
    const asked = { role: 'user', content: 'What does the log say?' };
    const first = await post([asked], { tools: [{ name: 'Bash' }], thinking });
    expect(first.content).toMatchObject([
      { type: 'thinking' },
      { text: '1 so far' },
      { type: 'tool_use', name: 'Bash' },
    ]);
    const titled = await post([{ role: 'user', content: 'A title, please.' }], {});
    expect(titled.content).toEqual([{ type: 'text', text: 'Billing' }]);
    const result = { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'x', content: 'all of it' }] };
    const second = [asked, { role: 'assistant', content: first.content }, result];
    const answered = await post(second, { tools: [{ name: 'Bash' }, loaded], thinking });
    expect(answered.status).toBe(200);
    const cut = { ...result, content: [{ ...result.content[0], content: 'all' }] };
    const third = [...second.slice(0, 2), cut, { role: 'assistant', content: answered.content }, result];
    expect((await post(third, { tools: [{ name: 'Bash' }], thinking })).status).toBe(400);
    await upstream.close();
    const [task, title] = [...upstream.strangers.values()];
    expect(task).toMatchObject({ requests: 3, reasoning: 3, breaks: [{ effect: 'refused', item: 2 }] });
    expect(title).toMatchObject({ requests: 1, reasoning: 0, breaks: [] });
  });

  it.each([
    { wire: 'responses', effect: 'dropped', status: 200 },
    { wire: 'messages', effect: 'refused', status: 400 },
  ] as const)('notices an item that changes on $wire', async ({ wire, effect, status }) => {
    const upstream = new CheckingUpstream();
    await upstream.start();
    const agent = new Correspondent('a', wire, true);
    upstream.add(agent);
    const history: object[] = [{ role: 'user', content: 'What does the log say?' }];
    const send = async () => {
      const body =
        wire === 'messages'
          ? { model: 'claude', metadata: { user_id: 'a' }, thinking: { type: 'enabled' }, messages: history }
          : { model: 'gpt-6.2', prompt_cache_key: 'a', reasoning: {}, input: history };
      const init = { method: 'POST', body: JSON.stringify(body) };
      const answer = await fetch(`${upstream.origin}/v1/${wire}`, init);
      return { status: answer.status, body: (await answer.json()) as { input_transformations?: { reason: string }[] } };
    };
    await send();
    history.push(...agent.answer, { role: 'user', content: 'And now?' });
    expect((await send()).status).toBe(200);
    expect(agent.breaks).toEqual([]);
    history[0] = { role: 'user', content: 'What does the log … say?' };
    const changed = await send();
    await upstream.close();
    expect(changed.status).toBe(status);
    expect(agent.breaks).toMatchObject([{ wire, effect, item: 0 }]);
    if (status === 200) expect(changed.body.input_transformations).toMatchObject([{ reason: 'prefix_mismatch' }]);
  });
});
