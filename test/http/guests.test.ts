import { expect, it } from 'vitest';
import type { Edition, Guest } from '../../src/app/guest.ts';
import { edition } from '../../src/edition.ts';
import { chatBody, oneResult } from '../helpers/chat.ts';
import { startUpstream } from '../helpers/fake-upstream.ts';
import { startProxy } from '../helpers/proxy.ts';
import { serverLog } from '../helpers/texts.ts';

/** Calls of guests, in order: `limits.ended`. */
const calls: string[] = [];

/** The same guest, with calls of its functions noted. Doors admit requests, and are no members of this list. */
function noted<G extends Guest>(name: string, guest: G): G {
  const { door, ...rows } = guest.rows;
  const noting = <T extends object>(path: string, of: T): T =>
    new Proxy(of, {
      get(target, key) {
        const value: unknown = Reflect.get(target, key, target);
        if (typeof value === 'function')
          return (...args: unknown[]) => {
            calls.push(`${path}.${String(key)}`);
            return Reflect.apply(value, target, args);
          };
        return typeof value === 'object' && value !== null ? noting(`${path}.${String(key)}`, value) : value;
      },
    });
  return { ...noting(name, { ...guest, rows }), rows: { ...noting(`${name}.rows`, rows), door } };
}

it('no guest is asked between a request and its answer but by direct, and ended comes after the answer', async () => {
  const before: string[][] = [];
  const upstream = await startUpstream(async (_request, res) => {
    before.push(calls.splice(0));
    res.setHeader('content-type', 'application/json');
    res.write('{"choices":[{"message":{"role":"assistant","content":"fine"}}],"usage":');
    await new Promise((resolve) => setImmediate(resolve));
    before.push(calls.splice(0));
    res.end('{"prompt_tokens":9,"completion_tokens":1}}');
  });
  const parts = edition.parts.map((part) => ({
    ...part,
    open: async (...where: Parameters<typeof part.open>) => noted(part.name, await part.open(...where)),
  }));
  const own: Partial<Edition> = {
    parts,
    async ledger() {
      const open = await edition.ledger();
      return (...to) => noted('ledger', open(...to));
    },
    async contextGc() {
      const open = await edition.contextGc();
      return (...to) => noted('context', open(...to));
    },
    async recall() {
      const open = await edition.recall();
      return (...to) => noted('recall', open(...to));
    },
  };
  const proxy = await startProxy(upstream, { edition: own, env: { MCP_PRUNER_SEAMS: 'on' } });
  const history = [{ role: 'user', content: 'Why does the build fail?' }] as const;
  calls.length = 0;
  // the second and third request take the lane
  for (let n = 0; n < 3; n++) {
    expect(await (await proxy.chat(chatBody(history))).text()).toContain('prompt_tokens');
    await expect
      .poll(() => calls)
      .toEqual(expect.arrayContaining(['limits.ended', 'ledger.ledger.request', 'context.cold.answered']));
    calls.length = 0;
  }
  await (await proxy.chat(chatBody(oneResult(serverLog(100))))).text();
  // on a busy machine they are read before the answer has ended
  await expect
    .poll(() => [...before.flat(), ...calls])
    .toEqual(expect.arrayContaining(['context.sees.see', 'recall.sees.see']));
  expect(before).toHaveLength(8);
  // new messages are read once their request was forwarded, while the model answers
  expect(before.flat().filter((call) => !/^seams\.direct\.|\.sees\./.test(call))).toEqual([]);
  expect(before.flat()).not.toEqual([]);
});
