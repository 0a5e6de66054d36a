import { crc32 } from 'node:zlib';
import type { ScannedText } from '../../wires/dialects/dialect.ts';
import { containsSummary, openingEnd } from '../compactions/signs.ts';
import type { RewrittenRequest } from './rewritten.ts';

/** Checksums of what stands before the messages of a request, and of a client's summary among the first of them. */
export interface BodySums {
  readonly tools: string;
  readonly system: string;
  /** `''`: there is no summary. */
  readonly summary: string;
}

type SummedBody = Pick<RewrittenRequest, 'received' | 'outside' | 'messages'>;

/** By body: cold moments and the ledger ask for the same sums. */
const known = new WeakMap<Buffer, BodySums>();

/**
 * Checksums of the tools, of the instructions, and of a client's summary of an earlier history. Leading instruction
 * messages count as instructions, on wires that send them among the messages. Computed once for each body.
 */
export function checksumsOf(body: SummedBody): BodySums {
  const before = known.get(body.received);
  if (before) return before;
  const sums = summed(body);
  known.set(body.received, sums);
  return sums;
}

function summed({ received, outside, messages }: SummedBody): BodySums {
  let tools = 0;
  let system = 0;
  for (const { start, end } of outside) {
    const key = received.toString('latin1', Math.max(0, start - 20), start);
    const bytes = received.subarray(start, end);
    if (key.includes('tools"') || key.includes('functions"') || key.includes('toolConfig"'))
      tools = crc32(bytes, tools);
    else system = crc32(bytes, system);
  }
  for (const { role, span } of messages) {
    if (role !== 'other') break;
    system = crc32(received.subarray(span.start, span.end), system);
  }
  return { tools: tools.toString(36), system: system.toString(36), summary: summaryIn(received, messages) };
}

/** Bytes of a text that show whether it is a summary. */
const BEGINNING = 600;

/** Checksum of the client's summary among the first messages; `''`: there is none. */
function summaryIn(received: Buffer, messages: RewrittenRequest['messages']): string {
  const isSummary = ({ use, literal: { start, end } }: ScannedText): boolean =>
    use === 'words' &&
    containsSummary(
      received.toString('latin1', start + 1, Math.min(end, start + BEGINNING)).replace(/^(?:\\[nrt])+/, ''),
    );
  const end = openingEnd(messages);
  for (let i = 0; i < end; i++) {
    const summary = messages[i]?.role === 'user' ? messages[i]?.texts.find(isSummary) : undefined;
    if (summary) return crc32(received.subarray(summary.literal.start, summary.literal.end)).toString(36);
  }
  return '';
}
