import { forcedReason } from '../../errors/passed-whole.ts';

/** Counted reasons: a request was forwarded unread, refused, or misinterpreted. */
const REASONS = new Set([
  'encoding_not_understood',
  'body_not_understood',
  'frame_not_understood',
  'path_not_understood',
  'upgrade_refused',
  'websocket_not_opened',
  'prefix_binding_mismatch',
  'signed_by_client',
  'asked_to_retry',
  'history_raw',
  'answer_not_read',
  'odd_usage',
]);

/**
 * Counts requests since the start that were unread or refused, or whose new texts stayed whole for lack of time, memory
 * or the store. Without it, a changed client protocol or a busy machine could go unnoticed for weeks.
 */
export class NotUnderstood {
  readonly #counts = new Map<string, number>();

  /** Counts a request by its reason. Unknown reasons are ignored. */
  count(code: string): void {
    const reason = REASONS.has(code) ? code : forcedReason(code);
    if (reason !== null) this.#counts.set(reason, (this.#counts.get(reason) ?? 0) + 1);
  }

  /** Counts by reason; empty if all requests were read. */
  report(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#counts);
  }
}
