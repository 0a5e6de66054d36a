import { columnDecimals } from '../../../base/decimals.ts';

const whole = new Intl.NumberFormat('en-US', { maximumFractionDigits: 0 });
const short = new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 1 });
const time = new Intl.DateTimeFormat(undefined, {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
});
const dateTime = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });
const day = new Intl.DateTimeFormat(undefined, { month: 'short', day: 'numeric', timeZone: 'UTC' });

export const number = (value: number): string => whole.format(value);
export const compact = (value: number): string =>
  Math.abs(value) < 10_000 ? whole.format(value) : short.format(value);
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

/** Dollars with as many digits as are significant. */
export function dollars(value: number, decimals?: number): string {
  const size = Math.abs(value);
  const digits =
    decimals ?? (size === 0 || size >= 100 ? (size >= 100 ? 0 : 2) : size >= 0.1 ? 2 : size >= 0.001 ? 4 : 6);
  const text = size.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return `${value < 0 ? '−' : ''}$${text}`;
}

/** Prints the dollars of a column with the same decimals. */
export function dollarColumn(values: readonly number[]): (value: number) => string {
  const decimals = columnDecimals(values);
  return (value) => dollars(value, decimals);
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

/** How long ago, or how far ahead, in one unit. */
export function ago(ms: number, nowMs: number): string {
  const s = Math.round(Math.abs(nowMs - ms) / 1000);
  const [amount, unit] =
    s < 60 ? [s, 's'] : s < 3600 ? [s / 60, 'min'] : s < 86_400 ? [s / 3600, 'h'] : [s / 86_400, 'd'];
  const text = `${Math.round(amount)} ${unit}`;
  return ms <= nowMs ? `${text} ago` : `in ${text}`;
}

export function plural(amount: number, one: string, many = `${one}s`): string {
  return `${number(amount)} ${amount === 1 ? one : many}`;
}
