import { describe, expect, it } from 'vitest';
import { needsOf, Sent } from '../../bench/bill/needs.ts';
import { drawnFrom, factsOfCuts, type SampledFact, samplePage } from '../../bench/bill/sample.ts';
import { SentTexts } from '../../bench/bill/sent-texts.ts';
import { contentOf } from '../../bench/bill/shown.ts';
import { type Message, toolCall } from '../../bench/recordings/conversation.ts';
import { formatMarker } from '../../src/engine/text/marker.ts';

const run = [
  ...Array.from({ length: 20 }, (_, i) => `ok ${i} - part ${i}`),
  'Tests  3 failed | 20 passed',
  'Done in 4 s',
];
const messages: Message[] = [
  { role: 'user', content: 'Mend the checkout.' },
  { role: 'assistant', content: '', tool_calls: [toolCall('c', 'Bash', { command: 'npm test' })] },
  { role: 'tool', tool_call_id: 'c', content: run.join('\n') },
  { role: 'assistant', content: 'The suite still fails.' },
];
const marker = (startLine: number, endLine: number): string =>
  formatMarker({ pruneId: 'prn_0', startLine, endLine, reason: 'r' });

/** The facts of the conversation if its result is sent like this. */
function factsOf(result: string): SampledFact[] {
  const texts = new SentTexts(messages);
  const sent = messages.map((message) => (message.role === 'tool' ? result : contentOf(message)));
  texts.note(3, sent.slice(0, 3));
  const recording = { agent: 'Codex', name: 'a session', messages };
  return factsOfCuts({ recording, needs: needsOf(messages), texts, sent: new Sent(texts) });
}

describe('the sample of facts that answers depend on', () => {
  it('shows a kept fact at its place in the cut result, with the call and the answer', () => {
    const [fact, ...others] = factsOf([run[0], marker(2, 20), ...run.slice(20)].join('\n'));
    expect(others).toEqual([]);
    expect(fact?.said).toBe('kept');
    const shown = fact?.text.split('The result as it was sent')[1] ?? '';
    expect(shown).toContain('> Tests  3 failed | 20 passed');
    expect(shown).toContain(marker(2, 20));
    expect(fact?.text).toContain('Bash {"command":"npm test"}');
    expect(fact?.text).toContain('The suite still fails.');
  });

  it('shows a lost fact in the whole result, and the marker that replaces it', () => {
    const [fact] = factsOf([...run.slice(0, 5), marker(6, 22)].join('\n'));
    expect(fact?.said).toBe('lost');
    const [whole = '', cut = ''] = fact?.text.split('The result as it was sent') ?? [];
    expect(whole).toContain('> Tests  3 failed | 20 passed');
    expect(cut).toContain(`> ${marker(6, 22)}`);
  });

  it('excludes results that were sent whole', () => {
    expect(factsOf(run.join('\n'))).toEqual([]);
  });

  it('draws half of each kind, identically for the same seed, and explains how to count', () => {
    const facts = Array.from({ length: 300 }, (_, i): SampledFact => {
      return { said: i % 3 === 0 ? 'lost' : 'kept', text: `fact ${i}` };
    });
    const drawn = drawnFrom(facts, 100, 'a');
    expect(drawn.map(({ said }) => said)).toEqual([...Array(50).fill('kept'), ...Array(50).fill('lost')]);
    expect(new Set(drawn).size).toBe(100);
    expect(drawnFrom(facts, 100, 'a')).toEqual(drawn);
    expect(drawnFrom(facts, 100, 'b')).not.toEqual(drawn);
    const page = samplePage(drawn);
    expect(page.match(/- \[ \] /g)).toHaveLength(200);
    expect(page).toContain('Count: the precision');
  });
});
