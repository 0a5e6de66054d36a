import type { ReadBody } from '../request/read.ts';
import { compactingClient } from './signs.ts';

const TRIGGER = '"compaction_trigger"';

/** Whether a request is sent by the client itself to have its history summarised. */
export function asksForSummary(body: Buffer, { messages, texts }: Pick<ReadBody, 'messages' | 'texts'>): boolean {
  const last = messages.at(-1);
  if (!last) return false;
  if (last.role === 'other') return body.subarray(last.span.start, last.span.end).includes(TRIGGER);
  const words = last.role === 'user' ? last.texts.findLast(({ use }) => use === 'words') : undefined;
  return words !== undefined && compactingClient(texts.at(words.literal) ?? '') !== null;
}
