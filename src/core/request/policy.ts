import { hash } from 'node:crypto';
import type { Dialect, Purpose, ScannedBody } from '../../wires/dialects/dialect.ts';
import { checksHistory } from '../../wires/providers/checks-history.ts';

/** What the pipeline does with one request. Decided once, from the wire and the circumstances of the request. */
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
  /**
   * Whether the request is forwarded unchanged, without replaying or storing anything: because pruning is `off`, or for
   * a `dry-run` that only shows what would have been cut. Absent: it is rewritten.
   */
  readonly unchanged?: 'off' | 'dry-run';
}

/**
 * How free the proxy is with the history of a request. `free`: nothing verifies it, so that a switch applies to earlier
 * messages too. `repeated`: it contains reasoning of a model that does not verify it. Switches and faults change
 * nothing that was sent, but context GC may. `verified`: nothing may change.
 */
export type Binding = 'free' | 'repeated' | 'verified';

/** The binding of a request's history. */
export function bindingOf({ verifiesHistory }: Pick<Dialect, 'verifiesHistory'>, scanned: ScannedBody): Binding {
  if (verifiesHistory !== 'with-reasoning') return verifiesHistory === 'always' ? 'verified' : 'free';
  const { reasoning, previous, messages, model } = scanned;
  const hasReasoning = reasoning || previous !== '' || messages.some((message) => message.reasoning === true);
  if (!hasReasoning) return 'free';
  return checksHistory(model) ? 'verified' : 'repeated';
}

/** The policies of a request, by the binding of its history, which is known once the request is read. */
export interface Policies {
  readonly free: Policy;
  /** For `repeated` and `verified`. */
  readonly bound: Policy;
}

/** The inputs of the policies. */
export interface PolicyInputs {
  readonly purpose: Purpose;
  /** The kill switch, or the header of this request, turns pruning off. */
  readonly isOff: boolean;
  /** Shadow mode: nothing is cut. */
  readonly isShadow: boolean;
  /** New texts may be decided: the byte budget was granted, and the body is not above the limit. */
  readonly hasBudget: boolean;
  /** The provider rejected the unpruned history, so an earlier run must have pruned it. */
  readonly historyRefused: boolean;
  /** The caller can wait for the store to come back. */
  readonly mayWait: boolean;
}

/** The policy of an ordinary request. */
export const PRUNE: Policy = { newTexts: 'prune', history: 'replay', whenHistoryUnknown: 'pass' };

/** One policy for all requests. */
export function always(policy: Policy): Policies {
  return { free: policy, bound: policy };
}

/**
 * The policies of a request. If its history is bound, messages are repeated as they were first sent, whatever today's
 * settings are.
 */
export function policiesFor(inputs: PolicyInputs): Policies {
  const { purpose, isOff, isShadow, hasBudget, historyRefused, mayWait } = inputs;
  const isPruned = !isOff && !isShadow && hasBudget;
  const newTexts = (whole: Policy['newTexts']) => (purpose !== 'generate' ? 'pass' : isPruned ? 'prune' : whole);
  const rest = {
    history: historyRefused ? 're-prune' : 'replay',
    whenHistoryUnknown: mayWait ? 'wait' : 'pass',
  } as const;
  const unchanged = isOff ? 'off' : isShadow && hasBudget ? 'dry-run' : undefined;
  return {
    free: { newTexts: newTexts('pass'), ...rest, ...(unchanged && { unchanged }) },
    bound: { newTexts: newTexts('pass-and-record'), ...rest },
  };
}

/** Whether messages that stay whole are recorded, because they must never change. */
export function recordsWholeMessages({
  binding,
  policy,
}: {
  readonly binding: Binding;
  readonly policy: Policy;
}): boolean {
  return binding !== 'free' && policy.newTexts !== 'pass';
}

/** Part of the hash, so that other shares computed from the same ids are independent of this one. */
const SALT = 'mcp-pruner hold-out';

/** Whether a conversation belongs to the hold-out share. Deterministic for a given conversation and share. */
export function isHeldOut(conversationId: string, share: number): boolean {
  if (conversationId === '' || share <= 0) return false;
  const digits = hash('sha256', `${SALT}\0${conversationId}`, 'hex').slice(0, 8);
  return Number.parseInt(digits, 16) / 0x1_0000_0000 < share;
}
