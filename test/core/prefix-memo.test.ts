import { expect, it } from 'vitest';
import { PrefixBytes, PrefixMemo, type RememberedBody } from '../../src/core/request/prefix-memo.ts';
import { Conversation } from '../../src/wires/goal/conversation.ts';

const HEAD = 'one system prompt for all conversations of a client. '.repeat(20);

function bodyOf(name: string, chars = 0): Buffer {
  return Buffer.from(`${HEAD}${name}${'x'.repeat(chars)}`);
}

function remembered(body: Buffer): RememberedBody {
  const conversation = new Conversation();
  return {
    prefix: PrefixBytes.of(body, body.length, null, 0),
    dialect: 'chat',
    before: { model: 'm', stream: false, previous: '', thread: false, reasoning: false, outside: [] },
    messages: [],
    prefixes: [],
    rawHistory: false,
    edits: [],
    outcomes: [],
    checkpoints: [{ at: body.length, messages: 1, edits: 0, outcomes: 0, tokens: 0, conversation }],
    epoch: '',
    storedAtMs: 0,
    directives: '',
    steps: '',
    tail: Buffer.alloc(0),
    shownId: '',
    begins: false,
    origin: '',
    isKept: false,
    head: { model: 'm', tools: '', system: '' },
  };
}

const ANY = (): boolean => true;

it('a continuing conversation is not evicted by conversations that began and ended meanwhile', () => {
  const memo = new PrefixMemo(1_000_000);
  memo.add(remembered(bodyOf('mine')), null);
  memo.add(remembered(bodyOf('of nobody')), null);
  for (let i = 0; i < 40; i++) {
    memo.add(remembered(bodyOf(`passing by ${i}`)), null);
    expect(memo.find(bodyOf('mine'), ANY)).not.toBeNull();
  }
  expect(memo.find(bodyOf('of nobody'), ANY)).toBeNull();
});

it('the oldest conversations are evicted if their total size exceeds the memory', () => {
  const memo = new PrefixMemo(100_000);
  for (const name of ['a', 'b', 'c', 'd']) memo.add(remembered(bodyOf(name, 40_000)), null);
  expect(memo.find(bodyOf('d', 40_000), ANY)).not.toBeNull();
  expect(memo.find(bodyOf('c', 40_000), ANY)).not.toBeNull();
  expect(memo.find(bodyOf('a', 40_000), ANY)).toBeNull();
});
