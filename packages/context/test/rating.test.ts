import { describe, expect, it } from 'vitest';
import { serverLog, sourceFile } from '../../../test/helpers/texts.ts';
import { Replica, Work } from './session.ts';

const SOURCE = sourceFile(12);
const LOG = serverLog(80);

describe('a segment is collected sooner', () => {
  it('when its file was edited after it was read', async () => {
    const replica = new Replica();
    const work = new Work();
    work.tool('read_file', { path: 'src/orders.ts' }, SOURCE);
    work.tool('read_file', { path: 'src/stock.ts' }, sourceFile(12, 3));
    work.tool('edit_file', { path: '/home/me/shop/src/orders.ts', new_string: 'x' }, 'ok');
    work.idle(8);
    await replica.send(work.messages);
    const orders = await replica.candidate('src/orders.ts');
    const stock = await replica.candidate('src/stock.ts');
    expect(orders?.reason).toContain('edited later');
    expect(stock?.reason).not.toContain('edited later');
    expect(orders?.score).toBeGreaterThan(stock?.score ?? 1);
  });

  it.each([
    ['a patch', 'apply_patch', { input: '*** Begin Patch\n*** Update File: src/orders.ts\n@@\n-a\n+b\n' }],
    ['a shell command', 'bash', { command: "sed -i 's/a/b/' src/orders.ts" }],
    ['a redirect', 'bash', { command: 'node gen.js > src/orders.ts' }],
  ])('when %s changed its file', async (_by, tool, args) => {
    const replica = new Replica();
    const work = new Work();
    work.tool('read_file', { path: 'src/orders.ts' }, SOURCE);
    work.tool(tool, args, 'ok');
    work.idle(8);
    await replica.send(work.messages);
    expect((await replica.candidate('file read'))?.reason).toContain('edited later');
  });

  it('but not when the edit failed', async () => {
    const replica = new Replica();
    const work = new Work();
    work.tool('read_file', { path: 'src/orders.ts' }, SOURCE);
    work.tool('edit_file', { path: 'src/orders.ts' }, 'Error: old_string was not found in the file.');
    work.idle(8);
    await replica.send(work.messages);
    expect((await replica.candidate('file read'))?.reason).not.toContain('edited later');
  });

  it('when the same call was repeated later', async () => {
    const replica = new Replica();
    const work = new Work();
    const names = Array.from({ length: 200 }, (_, i) => `src/part-${i}.ts`).join('\n');
    work.tool('list_dir', { path: 'src' }, names);
    work.tool('read_file', { path: 'src/orders.ts', start_line: 10, end_line: 60 }, SOURCE);
    work.tool('list_dir', { path: 'src' }, `${names}\nsrc/new.ts`);
    work.tool('read_file', { path: 'src/orders.ts', start_line: 1, end_line: 80 }, `${SOURCE}// more`);
    work.idle(8);
    await replica.send(work.messages);
    const { candidates } = await replica.analyze();
    const again = candidates.filter(({ reason }) => reason.includes('asked for again'));
    // which of them saves more is the engine's business
    expect(again.map(({ reason }) => reason.split(':')[0]).sort()).toEqual([
      'file read by read_file src/orders.ts lines 10-60',
      expect.stringContaining('listing by list_dir'),
    ]);
    expect(Math.min(...again.map(({ score }) => score))).toBeGreaterThan(
      Math.max(...candidates.filter((one) => !again.includes(one)).map(({ score }) => score)),
    );
  });

  it('when nothing has referred to it for a long time', async () => {
    const replica = new Replica();
    const work = new Work();
    work.tool('bash', { command: 'npm run first' }, LOG);
    work.idle(40);
    work.tool('bash', { command: 'npm run second' }, serverLog(80, 5));
    work.idle(8);
    await replica.send(work.messages);
    const logs = (await replica.analyze()).candidates.filter(({ reason }) => reason.startsWith('command output'));
    expect(logs).toHaveLength(2);
    expect(logs[0]?.score).toBeGreaterThan(logs[1]?.score ?? 1);
    expect(logs[0]?.reason).toMatch(/nothing referred to it in the 5\d messages since/);
  });

  it('depending on its type: a log before code, code before prose, prose before a decision', async () => {
    const replica = new Replica();
    const work = new Work();
    const words = 'The orders are charged twice when the basket is sent again while the first charge waits. '.repeat(8);
    work.tool('bash', { command: 'npm start' }, LOG);
    work.tool('read_file', { path: 'src/orders.ts' }, SOURCE);
    work.say('assistant', words);
    work.say('assistant', `Decision: we keep the queue.\n${words}`);
    work.idle(60);
    await replica.send(work.messages);
    const { candidates } = await replica.analyze();
    const types = candidates.map(({ type }) => type);
    expect([...new Set(types)]).toEqual(['log', 'code', 'message', 'decision']);
  });
});

describe('a segment is not a candidate', () => {
  async function reasons(work: Work, over: Parameters<Replica['analyze']>[0] = {}): Promise<string> {
    const replica = new Replica();
    await replica.send(work.messages);
    return (await replica.analyze(over)).candidates.map(({ reason }) => reason).join('\n');
  }

  it('while it is among the newest messages', async () => {
    const work = new Work();
    work.tool('read_file', { path: 'src/orders.ts' }, SOURCE);
    work.idle(2);
    expect(await reasons(work)).toBe('');
  });

  it('when it is the task itself', async () => {
    const work = new Work();
    work.messages[1] = { role: 'user', content: 'Repair the checkout of the shop. '.repeat(40) };
    work.idle(60);
    expect(await reasons(work)).not.toContain('words of the user');
  });

  it('when the newest messages name its file, unless that copy is out of date', async () => {
    const work = new Work();
    work.tool('read_file', { path: 'src/orders.ts' }, SOURCE);
    work.tool('read_file', { path: 'src/stock.ts' }, sourceFile(12, 3));
    work.idle(30);
    work.say('assistant', 'Now I shall change src/orders.ts accordingly.');
    expect(await reasons(work)).not.toContain('src/orders.ts');
    expect(await reasons(work)).toContain('src/stock.ts');
    work.messages.splice(-1, 0, { role: 'user', content: 'go on' });
    work.tool('edit_file', { path: 'src/orders.ts' }, 'ok');
    work.say('assistant', 'src/orders.ts is changed.');
    expect(await reasons(work)).toContain('src/orders.ts');
  });

  it('when the caller works on its file, or has just mentioned the file', async () => {
    const work = new Work();
    work.tool('read_file', { path: 'src/orders.ts' }, SOURCE);
    work.idle(30);
    expect(await reasons(work)).toContain('src/orders.ts');
    expect(await reasons(work, { roots: { file: '/home/me/shop/src/orders.ts' } })).not.toContain('src/orders.ts');
    expect(await reasons(work, { roots: { said: ['look at src/orders.ts again'] } })).not.toContain('src/orders.ts');
  });

  it('when it is no larger than the marker that would replace it', async () => {
    const work = new Work();
    work.tool('bash', { command: 'pwd' }, '/home/me/shop');
    work.idle(30);
    expect(await reasons(work)).toBe('');
  });

  it('once the client has dropped it', async () => {
    const replica = new Replica();
    const work = new Work();
    work.tool('bash', { command: 'npm start' }, LOG);
    work.idle(20);
    await replica.send(work.messages);
    expect(await replica.candidate('command output')).toBeDefined();
    work.messages.splice(2, 2);
    work.idle(2);
    await replica.send(work.messages);
    expect(await replica.candidate('command output')).toBeUndefined();
  });
});

describe('the examined segments', () => {
  it('belong to the conversation of the named task, or to all active conversations if none is named', async () => {
    const replica = new Replica();
    for (const task of ['checkout', 'invoices']) {
      const work = new Work();
      work.say('user', `This is about the ${task}.`);
      work.messages.shift();
      work.messages.shift();
      work.tool('read_file', { path: `src/${task}.ts` }, `${SOURCE}// ${task}`);
      work.idle(20);
      await replica.send(work.messages, { task });
    }
    const files = async (over: Parameters<Replica['analyze']>[0]) =>
      (await replica.analyze(over)).candidates.flatMap(({ reason }) => /src\/\w+/.exec(reason)?.[0] ?? []).sort();
    expect(await files({})).toEqual(['src/checkout', 'src/invoices']);
    expect(await files({ task: 'invoices' })).toEqual(['src/invoices']);
    expect((await replica.analyze({ task: 'unheard' })).taskUnknown).toBe(true);
    expect(await files({ project: 'another' })).toEqual([]);
  });

  it('include the parts of an earlier task in the same conversation', async () => {
    const replica = new Replica();
    const work = new Work();
    work.tool('read_file', { path: 'src/orders.ts' }, SOURCE);
    await replica.send(work.messages, { task: 'one' });
    work.say('user', 'Now something else.');
    work.tool('read_file', { path: 'src/stock.ts' }, sourceFile(12, 3));
    work.idle(20);
    await replica.send(work.messages, { task: 'two' });
    const one = await replica.candidate('src/orders.ts', { task: 'two' });
    const two = await replica.candidate('src/stock.ts', { task: 'two' });
    expect(one?.reason).toContain('belongs to another task');
    expect(one?.score).toBeGreaterThan(two?.score ?? 1);
  });

  it('exclude yesterday’s conversations, and report the ages of today’s segments', async () => {
    const replica = new Replica();
    const old = new Work();
    old.tool('read_file', { path: 'src/old.ts' }, SOURCE);
    old.idle(20);
    await replica.send(old.messages);
    await replica.flush();
    replica.clock.now += 20 * 60 * 60 * 1000;
    const work = new Work();
    work.messages[1] = { role: 'user', content: 'Something new.' };
    work.tool('read_file', { path: 'src/new.ts' }, sourceFile(12, 3));
    work.idle(20);
    await replica.send(work.messages);
    await replica.flush();
    replica.clock.now += 90 * 60 * 1000;
    const { candidates } = await replica.analyze();
    expect(candidates.map(({ reason }) => reason).join()).not.toContain('src/old.ts');
    expect(candidates.find(({ reason }) => reason.includes('src/new.ts'))?.ageHours).toBe(1.5);
  });

  it('include segments that only the caller supplied', async () => {
    const replica = new Replica();
    const described = [
      { id: 'mine', type: 'log' as const, tokens: 4_000, createdAtMs: replica.clock.now - 7_200_000, path: '' },
      { id: 'unknown size', type: 'log' as const, tokens: 0, createdAtMs: null, path: '' },
    ];
    const { candidates, plan } = await replica.analyze({ described, target: 100 });
    expect(candidates.map(({ id, ageHours }) => [id, ageHours])).toEqual([['mine', 2]]);
    expect(plan?.segments.map(({ id }) => id)).toEqual(['mine']);
  });
});
