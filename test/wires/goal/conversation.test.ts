import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Conversation } from '../../../src/wires/goal/conversation.ts';

function withCall(said: string, asked = 'Why does the checkout fail for customers with vouchers?') {
  const conversation = new Conversation();
  conversation.userSaid(asked);
  conversation.assistantSaid(said, [{ id: 'c1', call: { name: 'read', args: '{"path":"a.ts"}' } }]);
  return conversation;
}

let calls = 0;
/** Whether a call of its own shows files again. */
const isShownAgain = (conversation: Conversation, paths: readonly string[]): boolean =>
  conversation.isShownAgain(paths, `call ${calls++}`);

describe('the goal of a result', () => {
  it("contains the call's request, the text sent with it, and the user’s words, in this order of weight", () => {
    const conversation = withCall('I look at the voucher code first.');
    const call = conversation.callOf('c1', '');
    expect(conversation.goalFor(call, '', 'a.ts').split('\n')).toEqual([
      'a.ts',
      'I look at the voucher code first.',
      'Why does the checkout fail for customers with vouchers?',
    ]);
  });

  it('is the explicit question alone if there is one', () => {
    const conversation = withCall('I look.');
    expect(conversation.goalFor(conversation.callOf('c1', ''), ' Where is it? ', 'a.ts')).toBe('Where is it?');
  });

  it("never depends on the user's words after the call", () => {
    const conversation = withCall('I look.');
    const before = conversation.goalFor(conversation.callOf('c1', ''), '', '');
    conversation.userSaid('Something else entirely: rename the logger of the whole project please.');
    expect(conversation.goalFor(conversation.callOf('c1', ''), '', '')).toBe(before);
  });

  it('has the newest words of the user at the time of the call', () => {
    const conversation = withCall('');
    conversation.userSaid('Now make the invoice numbers run without gaps, they must be legal in France.');
    conversation.assistantSaid('', [{ id: 'c2', call: { name: 'read', args: '{}' } }]);
    const goal = conversation.goalFor(conversation.callOf('c2', ''), '', '');
    expect(goal).toContain('invoice numbers');
    expect(goal).not.toContain('vouchers');
  });

  it('also uses the earlier words if the newest are only "go on"', () => {
    const conversation = withCall('');
    conversation.userSaid('yes, go on');
    expect(conversation.userWords).toContain('vouchers');
    expect(conversation.userWords).toContain('go on');
  });

  it('ignores empty user messages', () => {
    const conversation = withCall('');
    const { userWords } = conversation;
    conversation.userSaid('  \n ');
    expect(conversation.userWords).toBe(userWords);
  });

  it('has a bounded size, whatever the words', () => {
    const conversation = withCall('s'.repeat(100_000), 'u'.repeat(100_000));
    for (let i = 0; i < 50; i++) conversation.userSaid('yes');
    expect(conversation.goalFor(conversation.callOf('c1', ''), '', 'a'.repeat(100_000)).length).toBeLessThanOrEqual(
      3_000,
    );
    expect(conversation.goalFor(undefined, 'q'.repeat(100_000), '').length).toBeLessThanOrEqual(3_000);
  });

  it('is the user’s newest words if the call is not known', () => {
    expect(withCall('said').goalFor(undefined, '', '')).toBe('Why does the checkout fail for customers with vouchers?');
  });

  it('is found by name for the call of a legacy function', () => {
    const conversation = new Conversation();
    conversation.assistantSaid('I list.', [{ id: '', call: { name: 'ls', args: '{}' } }]);
    expect(conversation.callOf('', 'ls')?.said).toBe('I list.');
  });
});

const PLACE = { start: 0, end: 0 };

describe('a fork', () => {
  const step = fc.oneof(
    fc.tuple(fc.constant('user' as const), fc.string({ maxLength: 80 })),
    fc.tuple(fc.constant('assistant' as const), fc.string({ maxLength: 20 })),
    fc.tuple(fc.constant('result' as const), fc.constantFrom('a', 'b', 'c')),
  );
  const apply = (
    conversation: Conversation,
    [kind, text]: readonly ['user' | 'assistant' | 'result', string],
  ): void => {
    if (kind === 'user') conversation.userSaid(text);
    else if (kind === 'result') conversation.isReread(text, PLACE, () => text);
    else conversation.assistantSaid(text, [{ id: text, call: { name: 'read', args: text } }]);
  };
  const stateOf = (conversation: Conversation) => ({
    asked: conversation.userWords,
    calls: ['', 'a', 'b'].map((id) => conversation.goalFor(conversation.callOf(id, ''), '', '')),
    results: ['a', 'b', 'c'].map((text) => conversation.fork().isReread(text, PLACE, () => text)),
  });

  it('continues exactly like the conversation, and never changes it', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 12 }), fc.array(step, { maxLength: 12 }), (before, after) => {
        const whole = new Conversation();
        for (const each of [...before, ...after]) apply(whole, each);
        const first = new Conversation();
        for (const each of before) apply(first, each);
        const untouched = stateOf(first);
        const fork = first.fork();
        for (const each of after) apply(fork, each);
        expect(stateOf(fork)).toEqual(stateOf(whole));
        expect(stateOf(first)).toEqual(untouched);
      }),
    );
  });
});

describe('a text that the same call returns again', () => {
  const place = (start: number) => ({ start, end: start + 1 });
  const reader = (texts: string) => {
    const asked: number[] = [];
    const read = ({ start }: { start: number }): string => {
      asked.push(start);
      return texts.charAt(start);
    };
    return { asked, read };
  };

  it('is a re-read, unlike another text of the same call or the same text of another call', () => {
    const conversation = new Conversation();
    const { read } = reader('aaba');
    expect(conversation.isReread('cat x', place(0), read)).toBe(false);
    expect(conversation.isReread('cat y', place(1), read)).toBe(false);
    expect(conversation.isReread('cat x', place(2), read)).toBe(false);
    expect(conversation.isReread('cat x', place(3), read)).toBe(true);
  });

  it('is read only when a call repeats, and only once', () => {
    const conversation = new Conversation();
    const { asked, read } = reader('abcd');
    conversation.isReread('cat x', place(0), read);
    expect(asked).toEqual([]);
    conversation.isReread('cat x', place(1), read);
    conversation.isReread('cat x', place(2), read);
    expect(asked.toSorted((a, b) => a - b)).toEqual([0, 1, 2]);
  });

  it('is remembered for a bounded number of calls and results', () => {
    const conversation = new Conversation();
    const { read } = reader('a');
    for (let i = 0; i < 6_000; i++) conversation.isReread(`call ${i}`, place(0), read);
    expect(conversation.isReread('call 0', place(0), read)).toBe(true);
    expect(conversation.isReread('call 5999', place(0), read)).toBe(false);
  });
});

describe('a file that is shown again', () => {
  it('does not count as shown again in a turn with two equal calls, as the model saw neither result', () => {
    const conversation = new Conversation();
    expect(conversation.isShownAgain(['src/app.ts'], 'tail')).toBe(false);
    expect(conversation.isShownAgain(['src/app.ts'], 'tail')).toBe(false);
    expect(conversation.fork().isShownAgain(['src/app.ts'], 'head')).toBe(true);
    conversation.assistantSaid('Once more.', []);
    expect(conversation.isShownAgain(['src/app.ts'], 'tail')).toBe(true);
  });

  it('is recognised by its path in any spelling, and not by another file of the same name', () => {
    const conversation = new Conversation();
    expect(isShownAgain(conversation, ['/w/src/app.ts'])).toBe(false);
    expect(isShownAgain(conversation, ['/w/test/app.ts'])).toBe(false);
    for (const path of ['/w/src/app.ts', 'src/app.ts', './src/app.ts']) {
      expect(isShownAgain(conversation, [path])).toBe(true);
    }
    expect(isShownAgain(conversation, [])).toBe(false);
    expect(isShownAgain(conversation, ['README.md'])).toBe(false);
    expect(isShownAgain(conversation, ['packages/a/README.md'])).toBe(false);
    expect(isShownAgain(conversation, ['./README.md'])).toBe(true);
  });

  it('is recognised in continuations of a conversation, also from a stored answer, and in no other', () => {
    const conversation = new Conversation();
    const before = conversation.fork();
    isShownAgain(conversation, ['src/app.ts']);
    for (const later of [conversation.fork(), conversation.kept(), Conversation.fromText(conversation.toText())]) {
      expect(isShownAgain(later, ['src/app.ts'])).toBe(true);
    }
    expect(isShownAgain(before, ['src/app.ts'])).toBe(false);
  });

  it('uses bounded memory, however often the file is shown', () => {
    const conversation = new Conversation();
    for (let i = 0; i < 500; i++) isShownAgain(conversation, [`${i % 90}/app.ts`, 'src/app.ts']);
    expect(conversation.size).toBeLessThan(100);
  });
});
