import { hash } from 'node:crypto';
import type { Dialect, Purpose, ScannedBody } from '../../wires/dialects/dialect.ts';
import { checksHistory } from '../../wires/providers/checks-history.ts';

/** How the pipeline treats one request. Decided once per request. */
export interface Policy {
  /**
   * What to do with texts without a record: `prune` them; `pass` them unchanged; or pass them and record that they were
   * sent whole, so that they are never pruned later. Recorded cuts are replayed in any case.
   */
  readonly newTexts: 'prune' | 'pass' | 'pass-and-record';
  /** What to do with answered texts without a record: keep them whole, or prune them as when they were new. */
  readonly history: 'replay' | 're-prune';
  /**
   * What to do if the store cannot say how the history was sent: forward it unchanged, or throw `HistoryUnknown` so
   * that the caller waits.
   */
  readonly whenHistoryUnknown: 'pass' | 'wait';
  /**
   * Set if the request is forwarded unchanged, without replaying or storing anything: pruning is `off`, or a `dry-run`
   * only shows what would have been cut.
   */
  readonly unchanged?: 'off' | 'dry-run';
}

/**
 * To what extent sent messages may change. `free`: nothing verifies the history, so that changed settings apply to
 * earlier messages too. `repeated`: the history contains unverified reasoning; only context GC may change it, settings
 * and faults never do. `verified`: nothing may change.
 */
export type Binding = 'free' | 'repeated' | 'verified';

/** Derives the binding of a request's history. */
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
  /** Policy for `repeated` and `verified` histories. */
  readonly bound: Policy;
}

/** The inputs of the policies. */
export interface PolicyInputs {
  readonly purpose: Purpose;
  /** Pruning is off: by the kill switch, or by a header of this request. */
  readonly isOff: boolean;
  /** Shadow mode: nothing is cut. */
  readonly isShadow: boolean;
  /** New texts may be decided: the byte budget was granted, and the body does not exceed the limit. */
  readonly hasBudget: boolean;
  /** The provider rejected the unpruned history, so an earlier run must have pruned it. */
  readonly historyRefused: boolean;
  /** Which histories the caller waits for until the store is available again. */
  readonly waitsFor: 'all' | 'bound' | 'none';
}

/** The policy of an ordinary request. */
export const PRUNE: Policy = { newTexts: 'prune', history: 'replay', whenHistoryUnknown: 'pass' };

/** Uses the same policy for all bindings. */
export function always(policy: Policy): Policies {
  return { free: policy, bound: policy };
}

/**
 * Derives the policies of a request. With a bound history, messages are repeated as first sent, regardless of the
 * current settings.
 */
export function policiesFor(inputs: PolicyInputs): Policies {
  const { purpose, isOff, isShadow, hasBudget, historyRefused, waitsFor } = inputs;
  const isPruned = !isOff && !isShadow && hasBudget;
  const newTexts = (whole: Policy['newTexts']) => (purpose !== 'generate' ? 'pass' : isPruned ? 'prune' : whole);
  const history = historyRefused ? 're-prune' : 'replay';
  const whenUnknown = (waits: boolean) => ({ history, whenHistoryUnknown: waits ? 'wait' : 'pass' }) as const;
  const unchanged = isOff ? 'off' : isShadow && hasBudget ? 'dry-run' : undefined;
  return {
    free: { newTexts: newTexts('pass'), ...whenUnknown(waitsFor === 'all'), ...(unchanged && { unchanged }) },
    bound: { newTexts: newTexts('pass-and-record'), ...whenUnknown(waitsFor !== 'none') },
  };
}

/** Whether whole messages are recorded too, because they must never change. */
export function recordsWholeMessages({
  binding,
  policy,
}: {
  readonly binding: Binding;
  readonly policy: Policy;
}): boolean {
  return binding !== 'free' && policy.newTexts !== 'pass';
}

/** Makes this share statistically independent of other shares computed from the same ids. */
const SALT = 'mcp-pruner hold-out';

/** Whether a conversation belongs to the hold-out share. Deterministic for the id and the share. */
export function isHeldOut(conversationId: string, share: number): boolean {
  if (conversationId === '' || share <= 0) return false;
  const digits = hash('sha256', `${SALT}\0${conversationId}`, 'hex').slice(0, 8);
  return Number.parseInt(digits, 16) / 0x1_0000_0000 < share;
}
