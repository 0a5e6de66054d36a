import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { decide } from '../../src/core/decide/decision.ts';
import type { Decider } from '../../src/core/decide/decision-maker.ts';
import type { Store } from '../../src/core/ports.ts';
import { always, PRUNE } from '../../src/core/request/policy.ts';
import { StoreUnavailable } from '../../src/errors/errors.ts';
import type { Dialect } from '../../src/wires/dialects/dialect.ts';
import { openaiChat } from '../../src/wires/dialects/openai-chat/dialect.ts';
import { tempFolder } from '../helpers/afterwards.ts';
import { chatBody, contentAt, type Message, messageBytes, oneResult, toolTurn } from '../helpers/chat.ts';
import {
  manualClock,
  openPipeline,
  openRewriter,
  openStore,
  type RewriterParts,
  restored,
  TTL_MS,
  verdicts,
} from '../helpers/rewriter.ts';
import { serverLog } from '../helpers/texts.ts';

const LOG = serverLog(200);
const FIRST = oneResult(LOG);
const ANSWER: Message = { role: 'assistant', content: 'It is the gateway.' };
const SECOND = [...FIRST, ANSWER, ...toolTurn('c2', 'bash', { command: 'npm test' }, serverLog(150, 7))];
const PASS = always({ ...PRUNE, newTexts: 'pass-and-record' });
const CHECKED: Dialect = { ...openaiChat, verifiesHistory: 'always' };

/** Decides otherwise than the program that stored the record: only the first lines go. */
const OTHERWISE: Decider = {
  async decide(job, key, _deadline, opinions) {
    const made = decide(job, key, () => false, opinions);
    return made.cuts.length === 0 ? made : { ...made, cuts: [{ startLine: 2, endLine: 60, reason: 'autrement' }] };
  },
};

/** A store that answers nothing from now on, or only reads. */
function failing(store: Store, methods: readonly (keyof Store)[]): Store & { down: boolean } {
  const switched = { down: false };
  return new Proxy(store, {
    get(target, name) {
      if (name === 'down') return switched.down;
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      return (...args: unknown[]): unknown => {
        if (switched.down && methods.includes(name as keyof Store)) {
          if (name === 'epoch') throw new StoreUnavailable('locked');
          return Promise.reject(new StoreUnavailable('locked'));
        }
        return (value as (...given: unknown[]) => unknown).apply(target, args);
      };
    },
    set(_target, _name, value: boolean) {
      switched.down = value;
      return true;
    },
  }) as Store & { down: boolean };
}

/** The first request of a conversation, sent through a store on a file. */
async function sentOnce(parts: RewriterParts = {}) {
  const path = join(tempFolder(), 'store.db');
  const clock = manualClock();
  const store = openStore(path, clock);
  const first = await openRewriter({ store, clock, ...parts }).rewrite(chatBody(FIRST));
  expect(verdicts(first)).toEqual(['cut']);
  return { path, clock, store, first };
}

function expectRepeated(first: Buffer, later: Buffer): void {
  const begin = messageBytes(first);
  expect(later.subarray(0, begin.length).equals(begin)).toBe(true);
}

describe('a message that was sent before is repeated', () => {
  const changes: [string, RewriterParts][] = [
    ['after a restart', {}],
    ['under another ratio', { limits: { maxPruneRatio: 0.2, minKeepLines: 5 } }],
    ['where nothing may be pruned any more', { limits: { maxPruneRatio: 0, minKeepLines: 5 } }],
    ['where the tool is exempt now', { neverPruneTool: () => true }],
    ['where texts of its size are no candidates now', { minPruneChars: 1_000_000 }],
    ['where it is too large now', { maxInputChars: 10 }],
    ['without markers for what is new', { includeMarkers: false }],
    ['with numbers on the lines of what is new', { annotateLines: true }],
    ['where there is no time to decide', { timeoutMs: 0 }],
    ['by a program that would cut elsewhere', { decider: OTHERWISE }],
  ];
  it.each(changes)('%s', async (_name, parts) => {
    const { path, clock, first } = await sentOnce();
    const later = await openRewriter({ store: openStore(path, clock), clock, ...parts }).rewrite(chatBody(SECOND));
    expectRepeated(first.body, later.body);
    expect(later.acceptedBefore).toBe(true);
    expect(later.newFrom).toBe(1);
  });

  it('with line numbers if it had them', async () => {
    const { path, clock, first } = await sentOnce({ annotateLines: true });
    const later = await openRewriter({ store: openStore(path, clock), clock }).rewrite(chatBody(SECOND));
    expectRepeated(first.body, later.body);
  });

  it.each([
    ['in JSON', JSON.stringify({ output: LOG, exit_code: 0 })],
    ['in JSON in JSON', JSON.stringify([{ text: JSON.stringify({ out: LOG, err: serverLog(150, 3) }) }])],
  ])('%s, at its place', async (_name, wrapped) => {
    const path = join(tempFolder(), 'store.db');
    const first = await openRewriter({ store: openStore(path) }).rewrite(chatBody(oneResult(wrapped)));
    const more = chatBody([...oneResult(wrapped), ANSWER, { role: 'user', content: 'Go on.' }]);
    const later = await openRewriter({ store: openStore(path), minPruneChars: 1_000_000 }).rewrite(more);
    expectRepeated(first.body, later.body);
    expect(first.body.length).toBeLessThan(wrapped.length);
  });

  it('in a file attached to the user’s words', async () => {
    const path = join(tempFolder(), 'store.db');
    const asked = [{ role: 'user', content: `Why?\n<file path="a.log">\n${LOG}\n</file>\nLook at the payments.` }];
    const first = await openRewriter({ store: openStore(path) }).rewrite(chatBody(asked));
    expect(verdicts(first)).toEqual(['cut']);
    const later = openRewriter({ store: openStore(path), minPruneChars: 1_000_000 });
    expectRepeated(first.body, (await later.rewrite(chatBody([...asked, ANSWER, ...asked]))).body);
  });

  it('even if its original is lost, which is stored again from the request before it is forwarded', async () => {
    const { path, clock, store, first } = await sentOnce();
    clock.now += TTL_MS * 20;
    while (await store.sweep());
    const pruneId = first.outcomes[0]?.pruneId ?? '';
    expect(await store.findOriginal(pruneId)).toBeNull();
    const again = openStore(path, clock);
    const later = await openRewriter({ store: again, clock }).rewrite(chatBody(SECOND));
    expectRepeated(first.body, later.body);
    expect(await again.findOriginal(pruneId)).toBe(LOG);
    expect(await restored(contentAt(later.body, 3), again)).toBe(LOG);
  });

  it('in every branch that begins with it', async () => {
    const { path, clock, first } = await sentOnce();
    const rewriter = openRewriter({ store: openStore(path, clock), clock });
    for (const said of ['It is the gateway.', 'It is the voucher.']) {
      const branch = [...FIRST, { role: 'assistant', content: said }, { role: 'user', content: 'Are you sure?' }];
      expectRepeated(first.body, (await rewriter.rewrite(chatBody(branch))).body);
    }
  });

  it('whatever instructions now precede it', async () => {
    const { path, clock, first } = await sentOnce();
    const [, ...rest] = SECOND;
    const later = await openRewriter({ store: openStore(path, clock), clock }).rewrite(
      chatBody([{ role: 'system', content: 'Today is Tuesday.' }, ...rest]),
    );
    expect(contentAt(later.body, 3)).toBe(contentAt(first.body, 3));
  });

  it('for a token count, which makes no new decisions', async () => {
    const { path, clock, first } = await sentOnce();
    const pipeline = openPipeline({ store: openStore(path, clock), clock });
    const counted = await pipeline.rewrite({ body: chatBody(SECOND), dialect: openaiChat }, PASS);
    expectRepeated(first.body, counted.body);
    expect(verdicts(counted)).toEqual(['cut', 'past']);
    // what was counted does not bind what is sent
    const later = await pipeline.rewrite({ body: chatBody(SECOND), dialect: openaiChat });
    expect(verdicts(later)).toEqual(['cut', 'cut']);
  });

  it('while pruning is switched off, on a wire with verified history', async () => {
    const { path, clock, first } = await sentOnce();
    const pipeline = openPipeline({ store: openStore(path, clock), clock });
    const off = await pipeline.rewrite({ body: chatBody(SECOND), dialect: CHECKED }, PASS);
    expectRepeated(first.body, off.body);
    expect(verdicts(off)).toEqual(['cut', 'past']);
    // what went whole meanwhile stays whole
    const third = [...SECOND, ANSWER, { role: 'user', content: 'Go on.' }];
    const on = await pipeline.rewrite({ body: chatBody(third), dialect: CHECKED });
    expect(verdicts(on)).toEqual(['cut', 'past']);
    expectRepeated(off.body, on.body);
  });

  it('from memory while the store cannot answer; only new texts pass whole', async () => {
    const everything = ['epoch', 'lookUp', 'commit', 'knownPruneIds'] as const;
    for (const methods of [everything, ['commit'], ['epoch'], ['lookUp']] as const) {
      const store = failing(openStore(join(tempFolder(), 'store.db')), methods);
      const rewriter = openRewriter({ store });
      const first = await rewriter.rewrite(chatBody(FIRST));
      store.down = true;
      for (const body of [chatBody(SECOND), chatBody(SECOND, { tools: [] })]) {
        const during = await rewriter.rewrite(body);
        expect(contentAt(during.body, 3)).toBe(contentAt(first.body, 3));
        expect(contentAt(during.body, -1)).toBe(SECOND.at(-1)?.content);
        expect(during.fallbacks).toEqual(['store_locked']);
      }
      store.down = false;
      const third = chatBody([...SECOND, ANSWER, ...toolTurn('c3', 'bash', { command: 'ls' }, serverLog(150, 9))]);
      const later = await rewriter.rewrite(third);
      // what went whole was answered: it stays whole
      expect(verdicts(later).filter((verdict) => verdict === 'cut')).toHaveLength(2);
      expect(contentAt(later.body, 3)).toBe(contentAt(first.body, 3));
      expect(contentAt(later.body, 6)).toBe(SECOND.at(-1)?.content);
    }
  });
});

describe('a history that was answered before the proxy saw it', () => {
  it.each<[string, Dialect]>([
    ['where nobody checks', openaiChat],
    ['where the provider checks', CHECKED],
  ])('stays whole %s; only new texts are cut', async (_name, dialect) => {
    const pipeline = openPipeline();
    const rewritten = await pipeline.rewrite({ body: chatBody(SECOND), dialect });
    expect(verdicts(rewritten)).toEqual(['past', 'cut']);
    expect(rewritten).toMatchObject({ rawHistory: true, acceptedBefore: false });
    expect(contentAt(rewritten.body, 3)).toBe(LOG);
    const third = chatBody([...SECOND, ANSWER, { role: 'user', content: 'Go on.' }]);
    expectRepeated(rewritten.body, (await pipeline.rewrite({ body: third, dialect })).body);
  });

  it('stays whole if the store was lost', async () => {
    await sentOnce();
    const lost = await openRewriter({ store: openStore() }).rewrite(chatBody(SECOND));
    expect(contentAt(lost.body, 3)).toBe(LOG);
  });

  it('is cut as before if the provider refuses it whole, and is recognised from then on', async () => {
    const { first } = await sentOnce();
    const path = join(tempFolder(), 'other.db');
    const pipeline = openPipeline({ store: openStore(path) });
    const request = { body: chatBody(SECOND), dialect: CHECKED };
    const raw = await pipeline.rewrite(request);
    expect(raw.rawHistory).toBe(true);
    const again = await pipeline.rewrite(request, always({ ...PRUNE, history: 're-prune' }));
    expectRepeated(first.body, again.body);
    const restarted = await openPipeline({ store: openStore(path) }).rewrite(request);
    expect(restarted.body.equals(again.body)).toBe(true);
    expect(restarted.rawHistory).toBe(false);
  });

  it('is cut by the stored decision if the client rewrote it, on a wire without verified history', async () => {
    const { path, clock, first } = await sentOnce();
    const shortened = SECOND.map((message, i) => (i === 1 ? { ...message, content: 'The checkout fails.' } : message));
    const [, asked, call, result] = shortened;
    // the goal is another one, so that no decision is known
    const other = await openRewriter({ store: openStore(path, clock), clock }).rewrite(chatBody(shortened));
    expect(contentAt(other.body, 3)).toBe(LOG);
    expect([asked, call, result]).toHaveLength(3);
    const inserted = [{ role: 'user', content: '' }, ...SECOND];
    const known = await openRewriter({ store: openStore(path, clock), clock }).rewrite(chatBody(inserted));
    expect(contentAt(known.body, 4)).toBe(contentAt(first.body, 3));
  });
});

describe('a first request', () => {
  it('is marked as not accepted yet', async () => {
    const { first } = await sentOnce();
    expect(first).toMatchObject({ acceptedBefore: false, refusedBefore: false, rawHistory: false });
  });

  it.each(['the next request', 'the end of the process'])(
    'counts as accepted after a restart, even if the store was locked, once %s has recorded it',
    async (when) => {
      const path = join(tempFolder(), 'store.db');
      const store = failing(openStore(path), ['commit', 'addSent']);
      const pipeline = openPipeline({ store });
      const request = { body: chatBody(FIRST), dialect: CHECKED };
      const first = await pipeline.rewrite(request);
      store.down = true;
      pipeline.accepted(first);
      await pipeline.flush();
      store.down = false;
      expect(await openPipeline({ store: openStore(path) }).rewrite(request)).toMatchObject({ acceptedBefore: false });
      if (when === 'the next request')
        await pipeline.rewrite({ body: chatBody(oneResult(serverLog(90, 4))), dialect: openaiChat });
      else await pipeline.flush();
      expect(await openPipeline({ store: openStore(path) }).rewrite(request)).toMatchObject({ acceptedBefore: true });
    },
  );

  it('leaves no record for later requests to repeat if it took too long', async () => {
    const path = join(tempFolder(), 'store.db');
    let release = (): void => {};
    const waiting = new Promise<void>((resolve) => {
      release = resolve;
    });
    const slow: Decider = {
      async decide(job, key, _deadline, opinions) {
        await waiting;
        return decide(job, key, () => false, opinions);
      },
    };
    const rewriter = openRewriter({ store: openStore(path), decider: slow, timeoutMs: 20 });
    const late = await rewriter.rewrite(chatBody(FIRST));
    expect(late.fallbacks).toEqual(['timeout']);
    expect(contentAt(late.body, -1)).toBe(LOG);
    release();
    await new Promise((resolve) => setImmediate(resolve));
    const later = await openRewriter({ store: openStore(path) }).rewrite(chatBody(SECOND));
    expect(contentAt(later.body, 3)).toBe(LOG);
  });
});

describe('the same new turn sent to two processes at once', () => {
  const changes: [string, RewriterParts][] = [
    ['another ratio', { limits: { maxPruneRatio: 0.2, minKeepLines: 5 } }],
    ['a tool that is exempt', { neverPruneTool: () => true }],
    ['texts that are too large', { maxInputChars: 10 }],
    ['texts of its size that are no candidates', { minPruneChars: 1_000_000 }],
    ['numbers on the lines', { annotateLines: true }],
    ['no time to decide', { timeoutMs: 0 }],
  ];
  it.each(changes)('is forwarded in the same bytes under %s, with verified history', async (_name, parts) => {
    for (const swapped of [false, true]) {
      const path = join(tempFolder(), 'store.db');
      const open = (own: RewriterParts) => openPipeline({ store: openStore(path), ...own });
      const pipelines = swapped ? [open(parts), open({})] : [open({}), open(parts)];
      const request = { body: chatBody(FIRST), dialect: CHECKED };
      const [one, two] = await Promise.all(pipelines.map((pipeline) => pipeline.rewrite(request)));
      expect(contentAt(two?.body ?? request.body, -1)).toBe(contentAt(one?.body ?? request.body, -1));
      for (const pipeline of pipelines) {
        const later = await pipeline.rewrite({ body: chatBody(SECOND), dialect: CHECKED });
        expectRepeated(one?.body ?? request.body, later.body);
      }
    }
  });

  const found = changes.filter(([, { minPruneChars, timeoutMs }]) => minPruneChars === undefined && timeoutMs !== 0);
  it.each(found)('is forwarded in the same bytes under %s, without verified history', async (_name, parts) => {
    const path = join(tempFolder(), 'store.db');
    const pipelines = [openPipeline({ store: openStore(path), ...parts }), openPipeline({ store: openStore(path) })];
    const request = { body: chatBody(FIRST), dialect: openaiChat };
    const [one, two] = await Promise.all(pipelines.map((pipeline) => pipeline.rewrite(request)));
    expect(contentAt(two?.body ?? request.body, -1)).toBe(contentAt(one?.body ?? request.body, -1));
  });
});
