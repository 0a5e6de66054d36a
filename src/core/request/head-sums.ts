import { crc32 } from 'node:zlib';
import type { ScannedText } from '../../wires/dialects/dialect.ts';
import { containsSummary, openingEnd } from '../compactions/signs.ts';
import type { RewrittenRequest } from './rewritten.ts';

/** Checksums of everything before the messages of a request, and of a client's summary in the first messages. */
interface BodySums {
  readonly tools: string;
  /** `''` if it continues a stored answer, before which the instructions may stand. */
  readonly system: string;
  /** `''` if there is no summary. */
  readonly summary: string;
}

type SummedBody = Pick<RewrittenRequest, 'received' | 'outside' | 'messages' | 'previous'>;

/** Cached per body, because cold moments and the ledger need the same checksums. */
const known = new WeakMap<Buffer, BodySums>();

/**
 * Computes the checksums of a body, once per body. On wires that send instructions among the messages, leading
 * instruction messages count as instructions.
 */
export function checksumsOf(body: SummedBody): BodySums {
  const before = known.get(body.received);
  if (before) return before;
  const sums = summed(body);
  known.set(body.received, sums);
  return sums;
}

function summed({ received, outside, messages, previous }: SummedBody): BodySums {
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
  const isKnown = previous === '';
  return {
    tools: tools.toString(36),
    system: isKnown ? system.toString(36) : '',
    summary: summaryIn(received, messages),
  };
}

/** Number of leading bytes that show whether a text is a summary. */
const BEGINNING = 600;

/** Checksum of the client's summary in the first messages; `''` if there is none. */
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
