/** Reasons for which a request passes unread because nobody knows what it is, or was understood otherwise than meant. */
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
 * Counts what passed unread, or was turned away, since the start: a client that changed its ways would otherwise save
 * nothing for weeks without anybody noticing.
 */
export class NotUnderstood {
  readonly #counts = new Map<string, number>();

  /** Other reasons are not counted. */
  count(reason: string): void {
    if (REASONS.has(reason)) this.#counts.set(reason, (this.#counts.get(reason) ?? 0) + 1);
  }

  /** How often, by reason; empty when all was understood. */
  report(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#counts);
  }
}
