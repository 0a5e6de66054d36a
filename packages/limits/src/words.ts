const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];
const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
const WEEK_DAYS = 6;

/** Formats a share as whole percent, such as `42 %`. Providers report no finer figures. */
export function percent(share: number): string {
  return `${Math.round(share * 100)} %`;
}

/** Formats a local time: `at 18:10`, `on Friday at 18:10`, or with a date. */
export function localTime(iso: string, nowMs: number): string {
  const at = new Date(iso);
  const now = new Date(nowMs);
  if (at.toDateString() === now.toDateString()) return `at ${clockTime(at)}`;
  const isNear = at.getTime() > nowMs && at.getTime() - nowMs < WEEK_DAYS * DAY_MS;
  const day = isNear ? DAYS[at.getDay()] : `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  return `on ${day} at ${clockTime(at)}`;
}

/** Formats `Fri 18:10`. */
export function shortTime(ms: number): string {
  const at = new Date(ms);
  return `${DAYS[at.getDay()]?.slice(0, 3)} ${clockTime(at)}`;
}

/** Formats `2 h 10 min`, `3 days 4 h`. */
export function timeLeft(ms: number): string {
  const minutes = Math.max(0, Math.round(ms / MINUTE_MS));
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours} h ${minutes % 60} min`;
  return `${Math.floor(hours / 24)} days ${hours % 24} h`;
}

function clockTime(at: Date): string {
  return `${two(at.getHours())}:${two(at.getMinutes())}`;
}

function two(value: number): string {
  return String(value).padStart(2, '0');
}
