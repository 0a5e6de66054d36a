import { describe, expect, it } from 'vitest';
import { decide, decisionKey, type Job } from '../../src/core/decide/decision.ts';
import { textHash } from '../../src/core/hash.ts';
import type { BoldnessSteps } from '../../src/core/ports/boldness.ts';
import { openaiChat } from '../../src/wires/dialects/openai-chat/dialect.ts';
import { chatBody, contentAt, type Message, oneResult } from '../helpers/chat.ts';
import { openPipeline, openStore } from '../helpers/rewriter.ts';
import { sourceFile } from '../helpers/texts.ts';

const TEXT = sourceFile(60);

function job(step?: number): Job {
  return {
    ...{ text: TEXT, textHash: textHash(TEXT), goal: 'where is the refund of a voucher counted?', tool: 'read_file' },
    ...{
      hints: { origin: 'read', path: 'src/orders.ts', question: true },
      limits: { maxPruneRatio: 0.9, minKeepLines: 5 },
    },
    caller: 'proxy',
    ...(step !== undefined && { boldness: { number: 7, step } }),
  };
}

const cutLines = (step?: number): number => {
  const { lines, keptLines } = decide(job(step), 'k', () => false);
  return lines - keptLines;
};

describe('boldness', () => {
  it('is part of the key, which a step of 0 does not change', () => {
    const keys = [-2, -1, 0, 1, 2].map((step) => decisionKey(job(step)));
    expect(new Set(keys).size).toBe(5);
    expect(keys[2]).toBe(decisionKey(job()));
  });

  it('cuts more with each step, and as configured without one', () => {
    const cut = [-2, -1, 0, 1, 2].map(cutLines);
    expect(cut).toEqual(cut.toSorted((a, b) => a - b));
    expect(cut[0]).toBeLessThan(cut[2] ?? 0);
    expect(cut[2]).toBe(cutLines());
  });

  it('does not change how an earlier text was cut, even if the client changed the messages before it', async () => {
    const store = openStore();
    const at = (step: number): BoldnessSteps => ({
      of: (_, tool) => (tool === 'read_file' ? new Map([['typescript', { number: 3 + step, step }]]) : null),
    });
    const args = { path: 'src/orders.ts', context_focus_question: 'Where is a voucher counted?' };
    const messages = oneResult(TEXT, { tool: 'read_file', args });
    const grown: Message[] = [
      ...messages,
      { role: 'assistant', content: 'Here.' },
      { role: 'user', content: 'Go on.' },
    ];
    const configured = await openPipeline().rewrite(request(messages));
    const first = await openPipeline({ store, boldness: at(-1) }).rewrite(request(messages));
    expect(first.body.length).toBeGreaterThan(configured.body.length);
    const [system, ...rest] = grown;
    const changed = [{ ...system, content: 'You are a careful engineer, and brief.' } as Message, ...rest];
    for (const step of [-2, 0, 1]) {
      const later = await openPipeline({ store, boldness: at(step) }).rewrite(request(changed));
      expect(contentAt(later.body, 3)).toBe(contentAt(first.body, 3));
    }
  });
});

function request(messages: readonly Message[]) {
  return { body: chatBody(messages), dialect: openaiChat };
}
