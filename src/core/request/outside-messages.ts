import type { Rewritten } from './rewritten.ts';

/** The bytes of a request before its first message and after its last one: short, whatever length a conversation has. */
export function outsideMessages({ received, messages }: Pick<Rewritten, 'received' | 'messages'>): readonly Buffer[] {
  const [first, last] = [messages[0]?.span, messages.at(-1)?.span];
  return first && last ? [received.subarray(0, first.start), received.subarray(last.end)] : [received];
}
