import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Conversation } from '../../../src/wires/goal/conversation.ts';
import { SharedLog } from '../../../src/wires/goal/shared-log.ts';
import { cpuMs } from '../../helpers/cpu-time.ts';

type Step =
  | readonly ['add', string, number]
  | readonly ['fork', number]
  | readonly ['use', number]
  | readonly ['keep', number];

describe('logs that share common entries', () => {
  const step: fc.Arbitrary<Step> = fc.oneof(
    fc.tuple(fc.constant('add' as const), fc.constantFrom('a', 'b', 'c'), fc.nat(99)),
    fc.tuple(fc.constant('fork' as const), fc.nat(9)),
    fc.tuple(fc.constant('use' as const), fc.nat(9)),
    fc.tuple(fc.constant('keep' as const), fc.nat(6)),
  );

  it('each behave like a separate list', () => {
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
            expect(log.newestOf(key, 2)).toEqual(values.slice(-2));
            expect(log.count(key)).toBe(values.length);
          }
        }
      }),
    );
  });
});

describe('a call that is made again and again', () => {
  it('costs no more the thousandth time than the hundredth', () => {
    const costOf = (calls: number): number => {
      const conversation = new Conversation();
      const startedAt = cpuMs();
      for (let start = 0; start < calls; start++) {
        conversation.isReread('bash npm test', { start, end: start + 1 }, ({ start: at }) => String(at % 50));
        conversation.callOf('bash', 'bash');
        conversation.assistantSaid('', [{ id: 'bash', call: { name: 'bash', args: '' } }]);
        conversation.callsUnder('bash');
      }
      return cpuMs() - startedAt;
    };
    costOf(1_000);
    const least = (calls: number): number => Math.min(...[1, 2, 3].map(() => costOf(calls)));
    // linear: 8 times; with a walk over all earlier calls at each: some 50 times
    expect(least(8_000) / Math.max(1, least(1_000))).toBeLessThan(24);
  });
});

describe('the stored part of a conversation', () => {
  it.each([10, 20_000])('survives serialization, with arguments of %i characters among others', (long) => {
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
