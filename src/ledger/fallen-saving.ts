/** Daily sums that show whether anything was saved. */
export interface DaySaving {
  readonly day: string;
  readonly requests: number;
  /** Estimated tokens of the examined tool results. */
  readonly looked: number;
  /** Tokens that were removed, and that shadow mode would have removed.  */
  readonly removed: number;
  readonly wouldRemove: number;
}

/** Number of daily requests that makes zero savings significant, with and without savings on the previous day. */
const FEW = 20;
const MANY = 50;

/**
 * Reports if the newest day saved nothing although large results were examined, or although the previous day had
 * savings.
 *
 * @param days - newest first
 */
export function fallenNotes(days: readonly DaySaving[]): string[] {
  const [last, before] = days;
  if (last?.removed !== 0) return [];
  const hasFallen = (before?.removed ?? 0) > 0;
  if (last.looked === 0 && !hasFallen) return [];
  if (last.requests < (hasFallen ? FEW : MANY)) return [];
  const fell =
    hasFallen && before ? `, ${Math.round(before.removed).toLocaleString('en-US')} tokens on ${before.day}` : '';
  const cause =
    last.wouldRemove > 0
      ? 'shadow mode is on'
      : last.looked > 0
        ? 'all tool results were left whole; run mcp-pruner doctor to find the cause'
        : 'no tool result was examined; run mcp-pruner doctor to find the cause';
  return [`nothing was saved in ${last.requests} requests on ${last.day}${fell}: ${cause}`];
}
