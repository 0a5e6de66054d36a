import { type Call, type Io, textOption, UsageError } from 'mcp-pruner/cli/command.ts';

const DAY_MS = 86_400_000;
const DAYS_BY_UNIT: Readonly<Record<string, number>> = { d: 1, w: 7, y: 365 };

/** Number of days covered by `--since`, including today. @throws UsageError */
export function daysOf(call: Call, usual: number): number {
  const text = textOption(call, 'since') ?? `${usual}d`;
  const [, digits, unit = 'd'] = /^(\d{1,5})([dwy]?)$/.exec(text) ?? [];
  const days = Number(digits ?? 0) * (DAYS_BY_UNIT[unit || 'd'] ?? 1);
  if (days < 1) throw new UsageError(`--since ${JSON.stringify(text)} is not a time such as 7d, 2w or 1y`);
  return Math.min(days, 36_500);
}

/** The first of the last `days` days (UTC). */
export function sinceDayOf(io: Io, days: number): string {
  return new Date(io.clock.nowMs() - (days - 1) * DAY_MS).toISOString().slice(0, 10);
}
