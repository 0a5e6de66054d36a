import { join } from 'node:path';
import { parseMarker } from 'mcp-pruner/engine/text/marker.ts';
import type { Dialect } from 'mcp-pruner/wires/dialects/dialect.ts';
import { openaiChat } from 'mcp-pruner/wires/dialects/openai-chat/dialect.ts';
import { describe, expect, it } from 'vitest';
import { tempFolder } from '../../../test/helpers/afterwards.ts';
import { messageBytes, messagesOf } from '../../../test/helpers/chat.ts';
import { openStore } from '../../../test/helpers/rewriter.ts';
import { sourceFile } from '../../../test/helpers/texts.ts';
import { PayingSteps } from '../src/paying-steps.ts';
import { Replica, type ReplicaParts, Work } from './session.ts';

const PARTS: ReplicaParts = { paying: true, minPruneChars: 1e9 };
const BIG = 'src/big.ts';

function stashed(body: Buffer): number[] {
  return messagesOf(body).flatMap(({ content }, i) =>
    typeof content === 'string' && parseMarker(content.trimEnd())?.reason === 'mis de côté' ? [i] : [],
  );
}

/** Small turns of an agent that runs one command after the other. */
function small(turns: number, work: Work, from = 0): Work {
  for (let i = from; i < from + turns; i++) work.tool('bash', { command: `ls part${i}` }, `part${i}.ts\n`);
  return work;
}

/** A large file that is read; then small turns go on until a step is taken. */
async function untilStep(replica: Replica, work: Work, most = 160): Promise<Buffer[]> {
  const sent: Buffer[] = [];
  for (let turn = 0; turn < most && replica.steps.length === 0; turn++) {
    sent.push((await replica.send(small(1, work, 1_000 + turn).messages)).body);
  }
  return sent;
}

function readOnce(work = new Work()): { readonly work: Work; readonly first: number } {
  const first = work.tool('read_file', { path: BIG }, sourceFile(300));
  work.say('user', 'Now list the other parts.');
  return { work, first };
}

describe('an old result', () => {
  it('is stashed once that pays, in one step that lasts', async () => {
    const replica = new Replica(PARTS);
    const { work, first } = readOnce();
    const sent = await untilStep(replica, work);
    expect(replica.steps).toMatchObject([{ by: 'payoff', segments: 1 }]);
    expect(sent.length).toBeGreaterThan(30); // the newest 30 results stay
    const last = sent.at(-1) ?? Buffer.alloc(0);
    expect(stashed(last)).toEqual([first]);
    const before = messageBytes(last);
    const next = messageBytes((await replica.send(small(2, work, 500).messages)).body);
    expect(next.subarray(0, before.length)).toEqual(before);
    expect(replica.steps).toHaveLength(1);
    expect(replica.failures).toEqual([]);
  });

  it('stays if it shows lines of a file that no later reading shows, and the user said nothing since', async () => {
    const task = (): Work => {
      const work = new Work();
      work.tool('read_file', { path: BIG, offset: 1, limit: 400 }, sourceFile(300));
      return work;
    };
    const steps = async (work: Work): Promise<number> => {
      const replica = new Replica(PARTS);
      await replica.send(small(120, work, 300).messages);
      return replica.steps.length;
    };
    expect(await steps(task())).toBe(0);
    const others = task();
    others.tool('read_file', { path: BIG, offset: 401, limit: 400 }, 'more');
    expect(await steps(others)).toBe(0);
    const again = task();
    again.tool('read_file', { path: BIG }, 'all of it, much shorter now');
    expect(await steps(again)).toBe(1);
    const next = task();
    next.say('user', 'Now list the other parts.');
    expect(await steps(next)).toBe(1);
  });

  it('stays if it is the newest reading of an edited or named file, short, or too recent to pay', async () => {
    const keeps: ((work: Work) => void)[] = [
      (work) => void work.tool('edit_file', { path: BIG, old: 'a', new: 'b' }, 'ok'),
      (work) => void small(60, work).tool('bash', { command: `wc -l ${BIG}` }, '900'),
    ];
    for (const act of keeps) {
      const replica = new Replica(PARTS);
      const { work } = readOnce();
      act(work);
      await replica.send(small(5, work, 300).messages);
      expect(replica.steps).toEqual([]);
    }
    const replica = new Replica(PARTS);
    const { work } = readOnce(small(2, new Work()));
    // a large result behind it would have to be written to the cache again
    small(31, work);
    work.tool('bash', { command: 'npm test' }, sourceFile(4_000));
    await replica.send(work.messages);
    expect(replica.steps).toEqual([]);
  });

  it('is stashed sooner if the conversations of the project last long', async () => {
    const stepsWith = async (lengths: number): Promise<number> => {
      const replica = new Replica(PARTS);
      for (let k = 0; k < 6 && lengths > 0; k++) {
        const other = new Work(`Task ${k} of the day.`);
        for (let i = 0; i < lengths; i++) await replica.send(small(1, other, i).messages);
      }
      await replica.flush();
      const { work } = readOnce();
      small(5, work);
      work.tool('bash', { command: 'npm test' }, sourceFile(600));
      await replica.send(small(28, work, 50).messages);
      return replica.steps.length;
    };
    expect(await stepsWith(0)).toBe(0);
    expect(await stepsWith(150)).toBe(1);
  });

  it('has the same bytes from another process, after a restart, and with such steps switched off', async () => {
    const path = join(tempFolder(), 'store.db');
    const here = new Replica({ ...PARTS, store: openStore(path) });
    const { work } = readOnce();
    const body = (await untilStep(here, work)).at(-1);
    expect(here.steps).toHaveLength(1);
    for (const parts of [PARTS, { ...PARTS, paying: false }]) {
      const there = new Replica({ ...parts, store: openStore(path) });
      expect((await there.send(work.messages)).body).toEqual(body);
      expect(there.steps).toEqual([]);
    }
  });

  it('stays whole in a branch from before the step', async () => {
    const replica = new Replica(PARTS);
    const { work } = readOnce();
    await untilStep(replica, work);
    const branch = [...work.messages.slice(0, 12), { role: 'user', content: 'No, look elsewhere.' }];
    expect(messagesOf((await replica.send(branch)).body)).toEqual(branch);
  });

  it('stays whole on a wire with verified history, without a fallback', async () => {
    const replica = new Replica(PARTS);
    const { work } = readOnce();
    small(120, work);
    const { body, fallbacks } = await replica.send(work.messages, {}, { ...openaiChat, verifiesHistory: 'always' });
    expect(messagesOf(body)).toEqual(work.messages);
    expect(fallbacks).toEqual([]);
    expect(replica.steps).toEqual([]);
    const free = new Replica(PARTS);
    await free.send(work.messages);
    expect(free.steps).toHaveLength(1);
  });

  it('is not looked for again until a conversation with verified history has grown', () => {
    const { clock, store, marks } = new Replica(PARTS);
    const ratesOf = () => ({ read: 0.1, write: 1.25 });
    const reports = { onStep: () => {}, onFailure: () => {} };
    const steps = new PayingSteps({ store: store.segments, events: store, clock, marks, ratesOf, ...reports });
    const scope = { project: 'default', task: '', requestId: 'r' };
    const head = () => ({ model: 'm', tools: '', system: '' });
    const sized = (bytes: number) => {
      return { scope, conversationId: 'c', tokens: 0, bytes, messages: 9, wire: 'chat', head, nowMs: 0 };
    };
    expect([120_000, 200_000].map((bytes) => steps.mayNeedStep(sized(bytes)))).toEqual([false, true]);
    steps.refused(sized(200_000));
    expect([210_000, 217_000].map((bytes) => steps.mayNeedStep(sized(bytes)))).toEqual([false, true]);
  });

  it('stays whole after reasoning that the model verifies, but not after reasoning of an older model', async () => {
    for (const [model, steps] of [
      ['gpt-6.2', 0],
      ['an-unknown-model', 0],
      ['gpt-5.1', 1],
    ] as const) {
      const replica = new Replica(PARTS);
      const { work } = readOnce();
      small(120, work);
      // a chat body in which the scan finds reasoning
      const scan: Dialect['scan'] = (body, resume) => ({ ...openaiChat.scan(body, resume), reasoning: true, model });
      await replica.send(work.messages, {}, { ...openaiChat, scan, verifiesHistory: 'with-reasoning' });
      expect(replica.steps).toHaveLength(steps);
    }
  });
});
