import { forcedReason } from '../../errors/passed-whole.ts';

/** Reasons that are counted: a request was forwarded unread, or was refused, or its format was misinterpreted. */
const REASONS = new Set([
  'encoding_not_understood',
  'body_not_understood',
  'frame_not_understood',
  'path_not_understood',
  'upgrade_refused',
  'websocket_not_opened',
  'prefix_binding_mismatch',
  'signed_by_client',
]);

/**
 * Counts unread and refused requests since the start, and those whose new texts passed whole for lack of time, memory
 * or the store. Otherwise a client that changed its protocol, or a busy machine, would silently save nothing for weeks.
 */
export class NotUnderstood {
  readonly #counts = new Map<string, number>();

  /** Counts a request by its reason. Other reasons are ignored. */
  count(code: string): void {
    const reason = REASONS.has(code) ? code : forcedReason(code);
    if (reason !== null) this.#counts.set(reason, (this.#counts.get(reason) ?? 0) + 1);
  }

  /** Counts by reason; empty if everything was read. */
  report(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#counts);
  }
}
