import type { WindowUse } from '@mcp-pruner/money/limits/attribution.ts';
import { UNITS } from '@mcp-pruner/money/limits/read-limits.ts';

const DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;

/**
 * When a window will be used up, at the rate of the last 24 hours or since its beginning if that is later.
 *
 * @returns epoch milliseconds; `null` if it lasts until the reset
 */
export function usedUpAtMs(window: Pick<WindowUse, 'used' | 'resetsS' | 'minutes' | 'movements'>, nowMs: number) {
  const { used, resetsS, minutes, movements } = window;
  const resetsMs = resetsS * 1000;
  const [first] = movements;
  if (used >= UNITS) return Math.min(resetsMs, movements.at(-1)?.endedMs ?? nowMs);
  const beganMs = resetsMs - minutes * MINUTE_MS;
  const sinceMs = Math.max(beganMs, nowMs - DAY_MS);
  // usage before the first reading may be older than a day
  const before = beganMs < sinceMs && first !== undefined && first.endedMs > sinceMs ? first.used : 0;
  const recent = movements.reduce((sum, one) => (one.endedMs > sinceMs ? sum + one.used : sum), 0) - before;
  if (recent <= 0 || nowMs <= sinceMs) return null;
  const usedUpMs = nowMs + ((UNITS - used) * (nowMs - sinceMs)) / recent;
  return usedUpMs < resetsMs ? Math.round(usedUpMs) : null;
}
