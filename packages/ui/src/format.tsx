import { count } from 'mcp-pruner/base/counts.ts';
import { columnDecimals, dollarWords } from 'mcp-pruner/base/decimals.ts';

const short = new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 1 });
const time = new Intl.DateTimeFormat(undefined, {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
});
const dateTime = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short', hourCycle: 'h23' });
const day = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric', timeZone: 'UTC' });

export const compact = (value: number): string => (Math.abs(value) < 10_000 ? count(value) : short.format(value));
export const clock = (ms: number): string => time.format(ms);
export const when = (ms: number): string => dateTime.format(ms);
/** @param iso - `YYYY-MM-DD` */
export const dayName = (iso: string): string => day.format(Date.parse(`${iso}T00:00:00Z`));
export const iso = (ms: number): string => new Date(ms).toISOString();

export function share(part: number, all: number): string {
  if (all <= 0) return '–';
  const percent = (part / all) * 100;
  return `${percent !== 0 && Math.abs(percent) < 10 ? percent.toFixed(1) : Math.round(percent)} %`;
}

/** Formats a single amount of dollars. For columns: `dollarColumn`. */
export function dollars(value: number): string {
  return dollarsWith(columnDecimals([value]), value);
}

/** Returns a formatter that uses the same decimals for a whole column of dollars. */
export function dollarColumn(values: readonly number[]): (value: number) => string {
  const decimals = columnDecimals(values);
  return (value) => dollarsWith(decimals, value);
}

function dollarsWith(decimals: number, value: number): string {
  return dollarWords(value, decimals).replace('-', '−');
}

export function bytes(value: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let size = value;
  let unit = 0;
  while (size >= 1024 && unit < units.length - 1) {
    size /= 1024;
    unit++;
  }
  return `${size >= 100 || unit === 0 ? Math.round(size) : size.toFixed(1)} ${units[unit]}`;
}

export function duration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  if (ms < 60_000) return `${(ms / 1_000).toFixed(1)} s`;
  return `${Math.round(ms / 60_000)} min`;
}

/** Formats a relative time in a single unit. */
export function ago(ms: number, nowMs: number): string {
  const s = Math.round(Math.abs(nowMs - ms) / 1000);
  const [amount, unit] =
    s < 60 ? [s, 's'] : s < 3600 ? [s / 60, 'min'] : s < 86_400 ? [s / 3600, 'h'] : [s / 86_400, 'd'];
  const text = `${Math.round(amount)} ${unit}`;
  return ms <= nowMs ? `${text} ago` : `in ${text}`;
}
