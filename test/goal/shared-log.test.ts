import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Conversation } from '../../src/goal/conversation.ts';
import { SharedLog } from '../../src/goal/shared-log.ts';

type Step =
  | readonly ['add', string, number]
  | readonly ['fork', number]
  | readonly ['use', number]
  | readonly ['keep', number];

describe('logs that share what they agree in', () => {
  const step: fc.Arbitrary<Step> = fc.oneof(
    fc.tuple(fc.constant('add' as const), fc.constantFrom('a', 'b', 'c'), fc.nat(99)),
    fc.tuple(fc.constant('fork' as const), fc.nat(9)),
    fc.tuple(fc.constant('use' as const), fc.nat(9)),
    fc.tuple(fc.constant('keep' as const), fc.nat(6)),
  );

  it('each say what a list of their own would', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const logs = [{ log: new SharedLog<number>(), list: [] as (readonly [string, number])[] }];
        let at = 0;
        for (const [what, first, second] of steps) {
          const one = logs[at] ?? logs[0];
          if (!one) return;
          if (what === 'add') {
            one.log.add(first, second);
            one.list.push([first, second]);
          } else if (what === 'keep') {
            one.log.keepNewest(first);
            one.list = first === 0 ? [] : one.list.slice(-first);
          } else if (what === 'use') at = first % logs.length;
          else {
            logs.push({ log: one.log.fork(), list: [...one.list] });
            at = logs.length - 1;
          }
        }
        for (const { log, list } of logs) {
          expect(log.entries()).toEqual(list);
          expect(log.size).toBe(list.length);
          for (const key of ['a', 'b', 'c']) {
            const values = list.flatMap(([name, value]) => (name === key ? value : []));
            expect(log.all(key)).toEqual(values);
            expect(log.newest(key)).toBe(values.at(-1));
          }
        }
      }),
    );
  });
});

describe('what is kept of a conversation for an answer', () => {
  it.each([10, 20_000])('is what its text says, with arguments of %i characters among others', (long) => {
    const conversation = new Conversation();
    conversation.begin('begins');
    conversation.userSaid('Why does the checkout fail?');
    for (let i = 0; i < 100; i++) {
      const args = 'x'.repeat(i % 7 === 0 ? long : 5);
      conversation.assistantSaid(`I look ${i}.`, [{ id: `c${i}`, call: { name: 'read', args } }]);
    }
    const kept = conversation.kept();
    expect(kept.toText()).toBe(Conversation.fromText(conversation.toText()).toText());
    expect(kept.callOf('c99', '')).toEqual(Conversation.fromText(conversation.toText()).callOf('c99', ''));
    expect(kept.callOf('c35', '')).toBeUndefined();
    kept.assistantSaid('More.', [{ id: 'new', call: { name: 'read', args: '' } }]);
    expect(conversation.callOf('new', '')).toBeUndefined();
  });
});
