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
 * Counts unread and refused requests since the start. Otherwise a client that changed its protocol would silently save
 * nothing for weeks.
 */
export class NotUnderstood {
  readonly #counts = new Map<string, number>();

  /** Counts a request by its reason. Reasons that are not in the list are ignored. */
  count(reason: string): void {
    if (REASONS.has(reason)) this.#counts.set(reason, (this.#counts.get(reason) ?? 0) + 1);
  }

  /** Counts by reason; empty if everything was read. */
  report(): Readonly<Record<string, number>> {
    return Object.fromEntries(this.#counts);
  }
}
