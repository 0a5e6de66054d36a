import { expect, it } from 'vitest';
import type { Guest } from '../../src/app/guest.ts';
import { edition } from '../../src/edition.ts';
import { chatBody } from '../helpers/chat.ts';
import { startUpstream } from '../helpers/fake-upstream.ts';
import { startProxy } from '../helpers/proxy.ts';

/** Calls of guests, in order: `limits.ended`. */
const calls: string[] = [];

/** The same guest, with calls of its functions noted. Doors admit requests, and are no members of this list. */
function noted(name: string, guest: Guest): Guest {
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
  const proxy = await startProxy(upstream, { parts, env: { MCP_PRUNER_SEAMS: 'on' } });
  const history = [{ role: 'user', content: 'Why does the build fail?' }] as const;
  calls.length = 0;
  // the second and third request take the lane
  for (let n = 0; n < 3; n++) {
    expect(await (await proxy.chat(chatBody(history))).text()).toContain('prompt_tokens');
    await expect.poll(() => calls).toContain('limits.ended');
    calls.length = 0;
  }
  expect(before).toHaveLength(6);
  expect(before.flat().filter((call) => !call.startsWith('seams.direct.'))).toEqual([]);
  expect(before.flat()).not.toEqual([]);
});
