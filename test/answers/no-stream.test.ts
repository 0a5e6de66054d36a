import { expect, it } from 'vitest';
import { ServerSentEvents } from '../../src/wires/dialects/answers/server-sent-events.ts';
import { allocatedBytes } from '../helpers/allocated.ts';

function reader(): { readonly events: ServerSentEvents; readonly found: string[] } {
  const found: string[] = [];
  const onEvent = (_name: string, data: string): void => void found.push(data.trim());
  return {
    events: new ServerSentEvents(
      (text) => Array.from(text.matchAll(/data:/g), ({ index }) => index),
      onEvent,
      () => {},
    ),
    found,
  };
}

it.each(['no event\n', 'no event\n\n'])('an answer of %j is read without an error for each line', async (line) => {
  const { events } = reader();
  const answer = Buffer.from(line.repeat(20_000));
  expect(await allocatedBytes(() => events.data(answer))).toBeLessThan(answer.length * 4);
});

it('at most 72 KB of an event are kept, whatever arrives', () => {
  const { events, found } = reader();
  const text = JSON.stringify({ id: 'x', unknown: Array.from({ length: 90_000 }, (_, i) => i), usage: { n: 1 } });
  for (const piece of [`data: ${text.slice(0, 100_000)}`, text.slice(100_000), '\n\n']) events.data(Buffer.from(piece));
  events.end();
  expect(found.map((data) => JSON.parse(data))).toEqual([{ id: 'x', usage: { n: 1 } }]);
});

it('the first event after comments is found', () => {
  for (const start of [': a comment\n\nretry: 5\n\n', 'event: named\n']) {
    const { events, found } = reader();
    events.data(Buffer.from(`${start}data: one\n\n`));
    events.end();
    expect([start, found]).toEqual([start, ['one']]);
  }
});
