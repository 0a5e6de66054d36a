import { FleetError } from '../errors.ts';
import type { ChildRecord } from '../ports.ts';
import { LIMIT_KEYS, type LimitKey } from './input.ts';

export type Limits = Readonly<Partial<Record<LimitKey, number>>>;
/** Limits as stated in a call; `null` resets a limit to its default. */
export type LimitChanges = Readonly<Partial<Record<LimitKey, number | null | undefined>>>;

/** Upper bounds from the configuration; 0 means unlimited. */
export interface Ceilings {
  readonly wallclockMs: number;
  readonly memoryMb: number;
  readonly cpuPercent: number;
}

export function defaultLimits({ wallclockMs, memoryMb, cpuPercent }: Ceilings): Limits {
  return {
    ...(wallclockMs > 0 && { wallclock_ms: wallclockMs }),
    ...(memoryMb > 0 && { memory_mb: memoryMb }),
    ...(cpuPercent > 0 && { cpu_percent: cpuPercent }),
  };
}

/**
 * Applies a change to limits: named keys replace, `null` resets to the default (the ceiling), other keys stay.
 *
 * @throws FleetError `E-CHILD-LIMIT` for a limit above its ceiling
 */
export function changedLimits(before: Limits, changes: LimitChanges, ceilings: Ceilings): Limits {
  const defaults = defaultLimits(ceilings);
  const limits: Partial<Record<LimitKey, number>> = { ...before };
  for (const key of LIMIT_KEYS) {
    const change = changes[key];
    if (change === undefined) continue;
    const allowed = defaults[key];
    if (change !== null && allowed !== undefined && change > allowed) {
      throw new FleetError('E-CHILD-LIMIT', { limit: key, allowed, asked: change });
    }
    const value = change ?? allowed;
    if (value === undefined) delete limits[key];
    else limits[key] = value;
  }
  return limits;
}

/** Limits that cannot be enforced on this system because it has no `/proc`. */
export function unenforced(limits: Limits, canLook: boolean): string[] {
  return LIMIT_KEYS.filter(
    (key) => limits[key] !== undefined && !canLook && (key === 'memory_mb' || key === 'cpu_percent'),
  );
}

/** The exhausted limit that forbids another model request, or `null`. */
export function forbids({ limits, usage }: Pick<ChildRecord, 'limits' | 'usage'>): LimitKey | null {
  const { messages, tokens, cost_usd } = limits as Limits;
  if (messages !== undefined && usage.messages >= messages) return 'messages';
  if (tokens !== undefined && usage.tokensIn + usage.tokensOut >= tokens) return 'tokens';
  if (cost_usd !== undefined && usage.costUsd !== null && usage.costUsd >= cost_usd) return 'cost_usd';
  return null;
}
