import type { SegmentBatch, SegmentStore } from 'mcp-pruner/core/ports/segments.ts';
import { stashId } from 'mcp-pruner/core/segments/text-segments.ts';
import { describe, expect, it } from 'vitest';
import { serverLog, sourceFile } from '../../../test/helpers/texts.ts';
import { type ReadSegments, Recorder, readSegment } from '../src/recorder.ts';
import { Replica, Work } from './session.ts';

/** What reached the store, and a way to make it fail. */
function recording(keepsOpenings = false) {
  const batches: SegmentBatch[] = [];
  const failures: unknown[] = [];
  let broken = false;
  const setBroken = (now: boolean): void => {
    broken = now;
  };
  const store = {
    note: async (noted: readonly SegmentBatch[]) => {
      if (broken) throw new Error('locked');
      batches.push(...noted);
    },
  } as unknown as SegmentStore;
  const recorder = new Recorder({
    store,
    clock: { nowMs: () => 0 },
    keepsOpenings,
    onFailure: (_reason, cause) => void failures.push(cause),
  });
  return { batches, failures, recorder, setBroken };
}

function request(ids: readonly string[], over: Partial<ReadSegments> = {}): ReadSegments {
  return {
    project: 'p',
    task: 't',
    conversationId: 'c',
    messages: ids.length,
    whole: true,
    segments: ids.map((id, ordinal) =>
      readSegment({
        id,
        ordinal,
        text: `text of ${id}`,
        role: 'tool',
        type: 'log',
        effect: 'run',
        tokens: 10,
        lines: 1,
        tool: 'bash',
        path: '',
        startLine: 0,
        endLine: 0,
        callId: '',
        callKey: '',
        wanted: '',
        edited: [],
        exempt: false,
        directed: null,
        pruneIds: [],
        hashes: [],
        copies: [],
      }),
    ),
    ...over,
  };
}

const written = (batches: readonly SegmentBatch[]) =>
  batches.map(({ whole, turns, segments }) => [whole, turns, segments.map(({ id }) => id).join('')]);

describe('recording requests', () => {
  it('stores the client, and the first words of the user only if that is allowed', async () => {
    for (const [keeps, opening] of [
      [true, 'Mend the cart'],
      [false, ''],
    ] as const) {
      const { recorder, batches } = recording(keeps);
      recorder.note(request([], { client: 'codex_cli', opening: 'Mend the cart' }));
      await recorder.flush();
      expect(batches).toMatchObject([{ client: 'codex_cli', opening }]);
    }
  });

  it('writes new segments, and combines the count of requests without new segments', async () => {
    const { batches, recorder } = recording();
    const all = request(['a', 'b', 'c', 'd']);
    recorder.note(request(['a', 'b']));
    recorder.note(request(['a', 'b']));
    recorder.note(request(['a', 'b', 'c']));
    recorder.note({ ...all, whole: false, segments: all.segments.slice(3) });
    recorder.note(all);
    await recorder.flush();
    expect(written(batches)).toEqual([
      [true, 2, 'ab'],
      [false, 1, 'c'],
      [false, 2, 'd'],
    ]);
  });

  it('writes all remaining segments again after one has left the conversation', async () => {
    const { batches, recorder } = recording();
    recorder.note(request(['a', 'b', 'c']));
    recorder.note(request(['a', 'c', 'd']));
    await recorder.flush();
    expect(written(batches)).toEqual([
      [true, 1, 'abc'],
      [true, 1, 'acd'],
    ]);
  });

  it('does not treat a side request with the same beginning, such as one for a title, as a change', async () => {
    const { batches, recorder } = recording();
    recorder.note(request(['a', 'b', 'c']));
    recorder.note(request(['a']));
    recorder.note(request(['a', 'b', 'c', 'd']));
    await recorder.flush();
    expect(written(batches)).toEqual([
      [true, 1, 'abc'],
      [false, 1, 'd'],
    ]);
  });

  it('keeps conversations and projects apart', async () => {
    const { batches, recorder } = recording();
    recorder.note(request(['a']));
    recorder.note(request(['a'], { project: 'q' }));
    recorder.note(request(['a'], { conversationId: 'd' }));
    await recorder.flush();
    expect(written(batches)).toEqual([
      [true, 1, 'a'],
      [true, 1, 'a'],
      [true, 1, 'a'],
    ]);
  });

  it('requests the erasure of deleted texts', async () => {
    const { batches, recorder } = recording();
    const [segment] = request(['a']).segments;
    if (!segment) throw new Error('no segment');
    recorder.note(request([], { segments: [{ ...segment, directed: 'delete', pruneIds: ['prn_1'] }] }));
    await recorder.flush();
    expect(batches[0]?.segments[0]?.erase).toEqual(['prn_1', stashId('p', 'a')]);
  });

  it('writes a long conversation in batches that count as one request', async () => {
    const { batches, recorder } = recording();
    recorder.note(request(Array.from({ length: 250 }, (_, i) => `s${i} `)));
    await recorder.flush();
    expect(batches.map(({ whole, turns, segments }) => [whole, turns, segments.length])).toEqual([
      [true, 1, 100],
      [false, 0, 100],
      [false, 0, 50],
    ]);
  });

  it('recovers from a failure of the store: the next request is recorded completely', async () => {
    const { batches, failures, recorder, setBroken } = recording();
    setBroken(true);
    recorder.note(request(['a', 'b']));
    await recorder.flush();
    expect(failures).toHaveLength(1);
    setBroken(false);
    recorder.note(request(['a', 'b', 'c']));
    await recorder.flush();
    expect(written(batches)).toEqual([[true, 1, 'abc']]);
  });

  it('stores no text of the conversation', async () => {
    const { batches, recorder } = recording();
    recorder.note(request(['a']));
    await recorder.flush();
    expect(JSON.stringify(batches)).not.toContain('text of');
  });
});

describe('a small conversation that is sent again and again', () => {
  const words = 'I have looked at the queue, and it waits for the charge before it goes on. '.repeat(3);

  async function chat(replica: Replica, messages: Work['messages']): Promise<[string, number][]> {
    await replica.send(messages);
    await replica.flush();
    const [conversation] = await replica.store.segments.conversations('default');
    if (!conversation) return [];
    const found = await replica.store.segments.segments(conversation, { limit: 50 });
    return found.map(({ ordinal, seenTurn }): [string, number] => [`${ordinal}`, seenTurn]).reverse();
  }

  it('has each message recorded once', async () => {
    const replica = new Replica();
    const work = new Work();
    expect(await chat(replica, work.messages)).toEqual([]); // nothing in it yet that could be collected
    work.say('assistant', words);
    expect(await chat(replica, work.messages)).toEqual([
      ['1', 1],
      ['2', 1],
    ]);
    work.say('user', 'Go on.');
    for (let i = 0; i < 3; i++) {
      expect(await chat(replica, work.messages)).toEqual([
        ['1', 1],
        ['2', 1],
        ['3', 2],
      ]);
    }
  });

  it('is recorded again after it has branched', async () => {
    const replica = new Replica();
    const work = new Work();
    work.say('assistant', words);
    await chat(replica, work.messages);
    work.messages[2] = { role: 'assistant', content: `No. ${words}` };
    work.say('user', 'Why?');
    expect(await chat(replica, work.messages)).toContainEqual(['3', 2]);
    const all = await chat(replica, work.messages);
    expect(all.filter(([, turn]) => turn === 2).map(([ordinal]) => ordinal)).toEqual(['1', '2', '3']);
  });
});

describe('the records of a request', () => {
  it('contain facts about its segments: kind, origin, forwarded size', async () => {
    const replica = new Replica();
    const work = new Work();
    work.tool('read_file', { path: 'src/orders.ts', offset: 10, limit: 40 }, sourceFile(30));
    work.tool('read_file', { path: 'docs/guide.md' }, '# Guide\n\nRead it.\n');
    work.tool('bash', { command: 'sed -n 5,9p src/stock.ts' }, 'a\nb\nc\nd\ne\n');
    work.tool('bash', { command: 'npm test' }, serverLog(200));
    work.tool('todo_write', { todos: [] }, 'Todos have been modified.');
    work.say('user', 'This session is being continued from a previous conversation: all is well.');
    await replica.send(work.messages);
    await replica.flush();
    const [conversation] = await replica.store.segments.conversations('default');
    if (!conversation) throw new Error('no conversation');
    const found = [...(await replica.store.segments.segments(conversation, { limit: 50 }))].reverse();
    expect(
      found.map(({ role, type, effect, tool, path, startLine, endLine }) => [
        role,
        type,
        effect,
        tool,
        path,
        startLine,
        endLine,
      ]),
    ).toEqual([
      ['user', 'message', 'asked', '', '', 0, 0],
      ['tool', 'code', 'read', 'read_file', 'src/orders.ts', 10, 49],
      ['tool', 'note', 'read', 'read_file', 'docs/guide.md', 0, 0],
      ['tool', 'code', 'read', 'bash', 'src/stock.ts', 5, 9],
      ['tool', 'log', 'run', 'bash', '', 0, 0],
      ['tool', 'note', 'other', 'todo_write', '', 0, 0],
      ['user', 'summary', 'asked', '', '', 0, 0],
    ]);
    const pruned = found[4];
    expect(pruned?.lines).toBe(200);
    expect(pruned?.tokens).toBeLessThan(3_000); // the log has some 8,000 before its lines are cut
    expect(replica.failures).toEqual([]);
  });
});
