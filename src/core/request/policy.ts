import { hash } from 'node:crypto';
import type { Dialect, Purpose } from '../../wires/dialects/dialect.ts';

/** What the pipeline does with one request. Decided once, from the wire and the situation of the request. */
export interface Policy {
  /**
   * What to do with texts without a record: `prune` them; `pass` them unchanged; or pass them and record that they were
   * sent whole, so that they are never pruned later. Recorded cuts are replayed in any case.
   */
  readonly newTexts: 'prune' | 'pass' | 'pass-and-record';
  /** Answered texts without a record: they stay whole, or are pruned as they would have been when they were new. */
  readonly history: 'replay' | 're-prune';
  /**
   * What to do if the store cannot say how the history was sent: forward it unchanged, or throw `HistoryUnknown` so
   * that the caller waits.
   */
  readonly whenHistoryUnknown: 'pass' | 'wait';
  /** Nothing is stored or replayed; the result only shows what would have been cut. */
  readonly dryRun: boolean;
}

/** The inputs of a policy, apart from the wire. */
export interface Situation {
  readonly purpose: Purpose;
  /** The kill switch, or the header of this request, turns pruning off. */
  readonly isOff: boolean;
  /** Shadow mode: nothing is cut. */
  readonly isShadow: boolean;
  /** The byte budget for new texts was granted. */
  readonly hasBudget: boolean;
  /** The provider rejected the unpruned history, so an earlier run must have pruned it. */
  readonly historyRefused: boolean;
  /** The caller can wait for the store to come back. */
  readonly mayWait: boolean;
}

/** The policy of an ordinary request. */
export const PRUNE: Policy = { newTexts: 'prune', history: 'replay', whenHistoryUnknown: 'pass', dryRun: false };

/**
 * The policy of a request; `null` if it is forwarded without being parsed. If the provider verifies the history,
 * messages are repeated as they were first sent, whatever today's settings are.
 */
export function policyFor({ verifiesHistory }: Pick<Dialect, 'verifiesHistory'>, situation: Situation): Policy | null {
  const { purpose, isOff, isShadow, hasBudget, historyRefused, mayWait } = situation;
  if (isOff && !verifiesHistory) return null;
  const whole = verifiesHistory ? 'pass-and-record' : 'pass';
  const isPruned = !isOff && !isShadow && hasBudget;
  return {
    newTexts: purpose !== 'generate' ? 'pass' : isPruned ? 'prune' : whole,
    history: historyRefused ? 're-prune' : 'replay',
    whenHistoryUnknown: mayWait ? 'wait' : 'pass',
    dryRun: isShadow && !verifiesHistory && hasBudget,
  };
}

/** Whether messages that stay whole are recorded, because the provider verifies that they never change. */
export function recordsWholeMessages({
  dialect,
  policy,
}: {
  readonly dialect: Pick<Dialect, 'verifiesHistory'>;
  readonly policy: Policy;
}): boolean {
  return dialect.verifiesHistory && policy.newTexts !== 'pass';
}

/** Part of the hash, so that other shares computed from the same ids are independent of this one. */
const SALT = 'mcp-pruner hold-out';

/** Whether a conversation belongs to the hold-out share. Deterministic for a given conversation and share. */
export function isHeldOut(conversationId: string, share: number): boolean {
  if (conversationId === '' || share <= 0) return false;
  const digits = hash('sha256', `${SALT}\0${conversationId}`, 'hex').slice(0, 8);
  return Number.parseInt(digits, 16) / 0x1_0000_0000 < share;
}
