import { describe, expect, it } from 'vitest';
import {
  type Binding,
  bindingOf,
  type Policy,
  type PolicyInputs,
  PRUNE,
  policiesFor,
  recordsWholeMessages,
} from '../../src/core/request/policy.ts';
import { anthropicMessages } from '../../src/wires/dialects/anthropic-messages/dialect.ts';
import type { Dialect } from '../../src/wires/dialects/dialect.ts';
import { googleInteractions } from '../../src/wires/dialects/google-interactions/dialect.ts';
import { openaiChat } from '../../src/wires/dialects/openai-chat/dialect.ts';
import { openaiResponses } from '../../src/wires/dialects/openai-responses/dialect.ts';

const ORDINARY: PolicyInputs = {
  purpose: 'generate',
  isOff: false,
  isShadow: false,
  hasBudget: true,
  historyRefused: false,
  waitsFor: 'none',
};

/** What each situation makes of an ordinary request, where the history is bound and where it is free. */
const ROWS: readonly [string, Partial<PolicyInputs>, Partial<Policy>, Partial<Policy>][] = [
  ['an ordinary request', {}, {}, {}],
  [
    'pruning that is switched off',
    { isOff: true },
    { newTexts: 'pass-and-record' },
    { newTexts: 'pass', unchanged: 'off' },
  ],
  ['shadow mode', { isShadow: true }, { newTexts: 'pass-and-record' }, { newTexts: 'pass', unchanged: 'dry-run' }],
  ['a spent byte budget', { hasBudget: false }, { newTexts: 'pass-and-record' }, { newTexts: 'pass' }],
  [
    'shadow mode with a spent byte budget',
    { isShadow: true, hasBudget: false },
    { newTexts: 'pass-and-record' },
    { newTexts: 'pass' },
  ],
  ['a count of tokens', { purpose: 'count' }, { newTexts: 'pass' }, { newTexts: 'pass' }],
  ['a compaction', { purpose: 'compact' }, { newTexts: 'pass' }, { newTexts: 'pass' }],
  ['a history that was refused whole', { historyRefused: true }, { history: 're-prune' }, { history: 're-prune' }],
  ['a store that may come back', { waitsFor: 'all' }, { whenHistoryUnknown: 'wait' }, { whenHistoryUnknown: 'wait' }],
  ['a locked file', { waitsFor: 'bound' }, { whenHistoryUnknown: 'wait' }, {}],
];

describe('the policies of a request', () => {
  it.each(ROWS)('are the expected ones for %s', (_name, situation, bound, free) => {
    const policies = policiesFor({ ...ORDINARY, ...situation });
    expect(policies).toEqual({ bound: { ...PRUNE, ...bound }, free: { ...PRUNE, ...free } });
  });

  it('never prune new texts of a token count', () => {
    for (const hasBudget of [true, false]) {
      for (const isShadow of [true, false]) {
        const policies = policiesFor({ ...ORDINARY, purpose: 'count', hasBudget, isShadow });
        expect([policies.bound.newTexts, policies.free.newTexts]).toEqual(['pass', 'pass']);
      }
    }
  });

  it('record whole messages of a bound history, unless new texts only pass', () => {
    const records = (binding: Binding, newTexts: Policy['newTexts']): boolean =>
      recordsWholeMessages({ binding, policy: { ...PRUNE, newTexts } });
    for (const binding of ['repeated', 'verified'] as const) {
      const recorded = (['prune', 'pass-and-record', 'pass'] as const).map((one) => records(binding, one));
      expect(recorded).toEqual([true, true, false]);
    }
    expect(records('free', 'prune')).toBe(false);
  });
});

const WORDS = { role: 'user', content: 'Why did the payment fail?' };
const REASONING = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'abc' };

function binding(dialect: Dialect, body: object): Binding {
  return bindingOf(dialect, dialect.scan(Buffer.from(JSON.stringify(body))));
}

describe('the history of a request on the responses wire', () => {
  it.each<[string, object, Binding]>([
    ['with reasoning among its items', { input: [WORDS, REASONING] }, 'verified'],
    ['with a reference to an item', { input: [WORDS, { type: 'item_reference', id: 'rs_1' }] }, 'verified'],
    ['that asks for encrypted reasoning', { input: [WORDS], include: ['reasoning.encrypted_content'] }, 'verified'],
    ['that continues an answer', { previous_response_id: 'resp_1', input: [WORDS] }, 'verified'],
    ['that continues a conversation', { input: [WORDS], conversation: { id: 'conv_1' } }, 'verified'],
    ['without reasoning', { input: [WORDS], include: ['file_search_call.results'], conversation: null }, 'free'],
    ['whose text only names reasoning', { input: [{ role: 'user', content: '{"type":"reasoning"}' }] }, 'free'],
    ['that is a string', { input: 'Why did the payment fail?' }, 'free'],
  ])('%s is bound as expected', (_name, body, expected) => {
    expect(binding(openaiResponses, { model: 'gpt-6.2-sol', ...body })).toBe(expected);
  });

  it.each<[string, Binding]>([
    ['gpt-4.1', 'repeated'],
    ['o4-mini', 'repeated'],
    ['gpt-5', 'repeated'],
    ['gpt-5.5-codex', 'repeated'],
    ['gpt-6', 'repeated'],
    ['gpt-6-astra', 'repeated'],
    ['gpt-6.1-sol', 'repeated'],
    ['openai/gpt-6.1', 'repeated'],
    ['gpt-6.2', 'verified'],
    ['gpt-6.2-sol', 'verified'],
    ['openai/gpt-6.3', 'verified'],
    ['gpt-6.10', 'verified'],
    ['gpt-7', 'verified'],
    ['gpt-50', 'verified'],
    ['my-deployment', 'verified'],
    ['', 'verified'],
  ])('may be rewritten on purpose only if the model is known not to check it: %s', (model, expected) => {
    expect(binding(openaiResponses, { model, input: [WORDS, REASONING] })).toBe(expected);
  });

  it('is bound on the interactions wire from the first request on, until the model answers without a thought', () => {
    const asked = { type: 'user_input', content: [{ type: 'text', text: 'Why did the payment fail?' }] };
    const said = { type: 'model_output', content: [{ type: 'text', text: 'The card was declined.' }] };
    const bound = (...input: object[]): Binding => binding(googleInteractions, { model: 'gemini-3-pro', input });
    expect([bound(asked), bound(asked, { type: 'thought' }, said), bound(asked, said)]).toEqual([
      'verified',
      'verified',
      'free',
    ]);
  });

  it('is verified on the messages wire and free on the chat wire, whatever it contains', () => {
    expect(binding(anthropicMessages, { model: 'claude-opus-5', messages: [WORDS] })).toBe('verified');
    expect(binding(openaiChat, { model: 'gpt-6.2', messages: [WORDS] })).toBe('free');
  });
});
