import { hash } from 'node:crypto';

/** Part of the hash, so that other shares made of the same ids are independent of this one. */
const SALT = 'mcp-pruner hold-out';

/** Whether a conversation is one of a share that is left whole: always the same for the same conversation and share. */
export function isHeldOut(conversationId: string, share: number): boolean {
  if (conversationId === '' || share <= 0) return false;
  const digits = hash('sha256', `${SALT}\0${conversationId}`, 'hex').slice(0, 8);
  return Number.parseInt(digits, 16) / 0x1_0000_0000 < share;
}
