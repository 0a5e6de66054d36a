import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Dialect } from '../../src/wires/dialects/dialect.ts';
import { providers } from '../../src/wires/providers/all.ts';
import { tempFolder } from '../helpers/afterwards.ts';
import { manualClock, openPipeline, openStore, restored } from '../helpers/rewriter.ts';
import { serverLog, sourceFile } from '../helpers/texts.ts';

/** A conversation of an agent without native calls: what is said in turn, the user first. */
const TURNS: readonly string[] = [
  'Why does the voucher vanish after the second payment of a basket?',
  'I read the log.\n\n```bash\ntail -n 200 logs/app.log\n```',
  `<returncode>0</returncode>\n<output>\n${serverLog(200)}</output>`,
  'I look at the code.\n\n```bash\ncat src/big.ts\n```',
  `<returncode>0</returncode>\n<output>\n${sourceFile(30)}</output>`,
  'Once more.\n\n```bash\nsed -n 1,400p src/big.ts\n```',
  `<returncode>0</returncode>\n<output>\n${sourceFile(30)}</output>`,
];
const roleOf = (i: number): string => (i % 2 === 0 ? 'user' : 'assistant');

/** The same turns in the body of each wire. */
const bodies: Readonly<Record<Dialect['name'], (turns: readonly string[]) => object>> = {
  chat: (turns) => ({ model: 'm', messages: turns.map((content, i) => ({ role: roleOf(i), content })) }),
  messages: (turns) => ({
    model: 'm',
    max_tokens: 9,
    messages: turns.map((text, i) => ({ role: roleOf(i), content: [{ type: 'text', text }] })),
  }),
  responses: (turns) => ({
    model: 'm',
    input: turns.map((text, i) => ({
      type: 'message',
      role: roleOf(i),
      content: [{ type: i % 2 === 0 ? 'input_text' : 'output_text', text }],
    })),
  }),
  interactions: (turns) => ({
    model: 'm',
    input: turns.map((text, i) => ({
      type: i % 2 === 0 ? 'user_input' : 'model_output',
      content: [{ type: 'text', text }],
    })),
  }),
  converse: (turns) => ({
    messages: turns.map((text, i) => ({ role: roleOf(i), content: [{ text }] })),
  }),
  gemini: (turns) => ({
    contents: turns.map((text, i) => ({ role: i % 2 === 0 ? 'user' : 'model', parts: [{ text }] })),
  }),
};

function stringsIn(value: unknown): string[] {
  if (typeof value === 'string') return [value];
  return value !== null && typeof value === 'object' ? Object.values(value).flatMap(stringsIn) : [];
}

/** How many of the turns each request holds. */
const REQUESTS = [3, 5, 7];

describe.each(
  [...new Set(providers.flatMap(({ dialects }) => dialects))].map((dialect) => ({ name: dialect.name, dialect })),
)('results that an agent sends as user messages, on $name', ({ name, dialect }) => {
  const bodyOf = (turns: readonly string[]): Buffer => Buffer.from(JSON.stringify(bodies[name](turns)));

  /** Forwarded bodies, each without what closes its list. */
  async function sent(path: string, turns: readonly string[], from = 0): Promise<string[]> {
    const store = openStore(path, manualClock());
    const out: string[] = [];
    for (const end of REQUESTS.slice(from)) {
      const { body } = await openPipeline({ store }).rewrite({ body: bodyOf(turns.slice(0, end)), dialect });
      out.push(body.toString().replace(/\]\}$/, ''));
    }
    await store.close();
    return out;
  }

  it('are cut once, pass whole when the file is read again, and keep each request a prefix of the next', async () => {
    const [first = '', second = '', third = ''] = await sent(join(tempFolder(), 'store.db'), TURNS);
    expect(first.length).toBeLessThan(bodyOf(TURNS.slice(0, 3)).length * 0.7);
    expect(second.startsWith(first)).toBe(true);
    expect(third.startsWith(second)).toBe(true);
    expect(third).toContain(JSON.stringify(TURNS[6]));
    expect(first).toContain('<returncode>0</returncode>\\n<output>\\n');
    expect(first).toContain('</output>"');
  });

  it('are the same after a restart, from a lost store, in a fork and after a regenerated answer', async () => {
    const path = join(tempFolder(), 'store.db');
    const steady = await sent(path, TURNS);
    expect(await sent(path, TURNS)).toEqual(steady);
    expect(await sent(join(tempFolder(), 'lost.db'), TURNS)).toEqual(steady);
    const fork = TURNS.with(5, 'I run the tests.\n\n```bash\nnpm test\n```').with(6, 'Stop. What is it?');
    const [first, second, third] = await sent(path, fork);
    expect([first, second]).toEqual(steady.slice(0, 2));
    expect(third?.startsWith(steady[1] ?? '-')).toBe(true);
  });

  it('stay whole if they were answered before the proxy saw them', async () => {
    const [late = ''] = await sent(join(tempFolder(), 'store.db'), TURNS, 2);
    expect(late).toBe(bodyOf(TURNS).toString().replace(/\]\}$/, ''));
  });

  it('lose no lines', async () => {
    const store = openStore();
    const { body } = await openPipeline({ store }).rewrite({ body: bodyOf(TURNS.slice(0, 3)), dialect });
    const cut = stringsIn(JSON.parse(body.toString())).find((text) => text.includes('prune_id=')) ?? '';
    expect(await restored(cut, store)).toBe(TURNS[2]);
  });
});
