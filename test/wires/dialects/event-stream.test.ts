import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { EventStream } from '../../../src/wires/dialects/event-stream.ts';
import { awsFrame } from '../../helpers/aws.ts';

const event = fc.tuple(
  fc.constantFrom('chunk', 'metadata', ''),
  fc.dictionary(fc.string(), fc.string({ maxLength: 300 })),
);

describe('an AWS event stream', () => {
  it('is read the same, wherever its chunks end', () => {
    fc.assert(
      fc.property(
        fc.array(event, { maxLength: 8 }),
        fc.infiniteStream(fc.integer({ min: 1, max: 90 })),
        (events, sizes) => {
          const bytes = Buffer.concat(events.map(([type, payload]) => awsFrame(type, payload)));
          const seen: [string, unknown][] = [];
          const stream = new EventStream((type, payload) => seen.push([type, JSON.parse(payload.toString())]));
          for (let at = 0; at < bytes.length; ) {
            const size = sizes.next().value ?? 1;
            stream.data(bytes.subarray(at, at + size));
            at += size;
          }
          expect(seen).toEqual(events.map(([type, payload]) => [type, { ...payload }]));
        },
      ),
    );
  });

  it('continues after a message that is too long', () => {
    const seen: string[] = [];
    const stream = new EventStream((type) => seen.push(type));
    const bytes = Buffer.concat([awsFrame('long', { text: 'x'.repeat(3_000_000) }), awsFrame('metadata', {})]);
    for (let at = 0; at < bytes.length; at += 65_536) stream.data(bytes.subarray(at, at + 65_536));
    expect(seen).toEqual(['metadata']);
  });

  it('never causes an exception, whatever the bytes', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 64 })), (chunks) => {
        const stream = new EventStream(() => {});
        for (const chunk of chunks) stream.data(Buffer.from(chunk));
      }),
    );
  });
});
