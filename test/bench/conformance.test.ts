import { describe, expect, it } from 'vitest';
import { Correspondent } from '../../bench/conformance/correspondent.ts';
import { planOf } from '../../bench/conformance/plan.ts';
import { isBroken, runPlan } from '../../bench/conformance/run.ts';
import { OwnTarget } from '../../bench/conformance/target.ts';
import { CheckingUpstream } from '../../bench/conformance/upstream.ts';
import { compiled } from '../helpers/built.ts';

describe('the conformance kit', () => {
  it('plans the same course for the same seed', () => {
    const options = { agents: 4, turns: 10, hasControl: true };
    expect(planOf(7, options)).toEqual(planOf(7, options));
    expect(planOf(8, options)).not.toEqual(planOf(7, options));
    const kinds = new Set(planOf(1, { agents: 20, turns: 40, hasControl: true }).steps.map(({ kind }) => kind));
    expect([...kinds]).toEqual(expect.arrayContaining(['turn', 'fork', 'compact', 'settings', 'kill']));
  });

  it('finds no changed item behind this product, and reads back every cut', async () => {
    const plan = planOf(2, { agents: 5, turns: 6, hasControl: true });
    const outcome = await runPlan(plan, async ({ origin }) => {
      const target = { programs: [compiled('cli.js')] as const, upstream: origin, database: null };
      return new OwnTarget(target);
    });
    expect(outcome.requests).toBeGreaterThan(25);
    expect(outcome.recovered).toBeGreaterThan(0);
    expect({ ...outcome, isBroken: isBroken(outcome) }).toMatchObject({
      breaks: [],
      failed: [],
      lost: [],
      isBroken: false,
    });
  }, 240_000);

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
          ? { model: 'claude', metadata: { user_id: 'a' }, messages: history }
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
