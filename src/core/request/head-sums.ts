import { crc32 } from 'node:zlib';
import type { Rewritten } from './rewritten.ts';

/**
 * Checksums of the tools and of the instructions. Leading instruction messages count as instructions, on wires that
 * send them among the messages.
 */
export function checksumsOf({ received, outside, messages }: Pick<Rewritten, 'received' | 'outside' | 'messages'>): {
  readonly tools: string;
  readonly system: string;
} {
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
  return { tools: tools.toString(36), system: system.toString(36) };
}
