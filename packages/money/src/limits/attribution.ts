import { groupBy } from 'mcp-pruner/engine/group-by.ts';
import { Explained } from './explained.ts';

/** A window between two resets, for a plan of an account. */
interface Window {
  readonly account: string;
  readonly provider: string;
  readonly plan: string | null;
  readonly window: string;
  readonly minutes: number;
  readonly resetsS: number;
  readonly status: string | null;
}

/** One reading of a window, from one answer. */
export interface Reading extends Window {
  /** Used share, in millionths of the window. */
  readonly used: number;
  /** Id of the request. */
  readonly request: string;
  /** `''` if the project was erased. */
  readonly project: string;
  readonly session: string;
  readonly conversation: string;
  readonly keyId: string;
  readonly model: string;
  readonly startedMs: number;
  readonly endedMs: number;
  /** The request's billed input equivalents, in hundredths of a token. */
  readonly weight: number;
}

/** By how much one request moved a window, in millionths, and how much of that was shared with overlapping requests. */
export interface Moved {
  readonly reading: Reading;
  readonly used: number;
  readonly shared: number;
}

/** Usage of a window by request. All shares are in millionths and add up to `used`. */
export interface WindowUse extends Window {
  /** Highest reading. */
  readonly used: number;
  /** Usage before the first reading, beyond what our requests explain, and by erased projects. */
  readonly elsewhere: number;
  /** One entry per reading, in order. */
  readonly requests: readonly Moved[];
  /** Readings with a movement, and the total movement including `elsewhere`. */
  readonly movements: readonly Movement[];
}

export interface Movement {
  readonly endedMs: number;
  readonly used: number;
  /** Whether our requests explain the whole movement. */
  readonly isOurs: boolean;
}

/** Resets that differ by at most this are considered equal, since some providers report remaining seconds. */
export const SAME_RESET_S = 120;

/**
 * Attributes each window's movement to the requests answered in the meantime. Pure; windows are independent of each
 * other.
 *
 * @param readings - in the order of the answers' ends
 * @returns windows in the order of their first readings; after a reset, a window is a new one
 */
export function attribute(readings: readonly Reading[]): readonly WindowUse[] {
  const named = groupBy(readings, ({ account, window }) => JSON.stringify([account, window]));
  return [...named.values()].flatMap((some) => betweenResets(some).map(useOf));
}

/** Groups readings by window between two resets. A late answer may still report the previous window. */
function betweenResets(readings: readonly Reading[]): Reading[][] {
  const windows: { resetsS: number; readings: Reading[] }[] = [];
  for (const reading of readings) {
    const known = windows.findLast(({ resetsS }) => Math.abs(resetsS - reading.resetsS) <= SAME_RESET_S);
    if (known) {
      known.readings.push(reading);
      known.resetsS = reading.resetsS;
    } else windows.push({ resetsS: reading.resetsS, readings: [reading] });
  }
  return windows.map((window) => window.readings);
}

function useOf(readings: readonly Reading[]): WindowUse {
  const used = readings.map(() => 0);
  const shared = readings.map(() => 0);
  const earliest = earliestStarts(readings);
  const movements: Movement[] = [];
  const explained = new Explained();
  let highest = 0;
  let elsewhere = 0;
  for (const [i, reading] of readings.entries()) {
    if (i > 0) explained.add(reading);
    const moved = reading.used - highest;
    if (moved <= 0) continue;
    highest = reading.used;
    const among = i === 0 ? [] : [i, ...overlapping(readings, i, earliest)];
    const own = i === 0 ? 0 : takenBy(explained, moved, readings, among);
    movements.push({ endedMs: reading.endedMs, used: moved, isOurs: own === moved });
    elsewhere += moved - own;
    const parts = divided(
      own,
      among.map((one) => readings[one]?.weight ?? 0),
    );
    for (const [at, one] of among.entries()) {
      const part = parts[at] ?? 0;
      if (readings[one]?.project === '') elsewhere += part;
      else {
        used[one] = (used[one] ?? 0) + part;
        if (among.length > 1) shared[one] = (shared[one] ?? 0) + part;
      }
    }
  }
  const last = readings.at(-1) as Reading;
  const { account, provider, window, minutes, resetsS, status } = last;
  const plan = readings.findLast((one) => one.plan !== null)?.plan ?? null;
  const requests = readings.map((reading, i) => ({ reading, used: used[i] ?? 0, shared: shared[i] ?? 0 }));
  return { account, provider, plan, window, minutes, resetsS, status, used: highest, elsewhere, requests, movements };
}

/** @param among - the request that reported the movement, and those that overlapped with it */
export function takenBy(
  explained: Explained,
  moved: number,
  readings: readonly Reading[],
  [at = 0, ...others]: readonly number[],
): number {
  const unfinished = others.filter((one) => one > at).flatMap((one) => readings[one] ?? []);
  return explained.takes(moved, unfinished);
}

/** For each reading, the earliest request start from there on. */
export function earliestStarts(readings: readonly Reading[]): number[] {
  const earliest: number[] = [];
  let start = Number.POSITIVE_INFINITY;
  for (let i = readings.length - 1; i >= 0; i--) {
    start = Math.min(start, readings[i]?.startedMs ?? start);
    earliest[i] = start;
  }
  return earliest;
}

/**
 * Indices of the requests that overlapped with a request.
 *
 * @param earliest - see `earliestStarts`
 */
export function overlapping(readings: readonly Reading[], at: number, earliest: readonly number[]): number[] {
  const { startedMs = 0, endedMs = 0 } = readings[at] ?? {};
  const found: number[] = [];
  for (let i = at - 1; i >= 0 && (readings[i]?.endedMs ?? 0) > startedMs; i--) found.push(i);
  found.reverse();
  for (let i = at + 1; i < readings.length && (earliest[i] ?? endedMs) < endedMs; i++) {
    if ((readings[i]?.startedMs ?? endedMs) < endedMs) found.push(i);
  }
  return found;
}

/** Divides a whole number in proportion to weights, into whole parts with exactly that sum. */
export function divided(whole: number, weights: readonly number[]): number[] {
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const exact = weights.map((weight) => (total > 0 ? (whole * weight) / total : whole / weights.length));
  const parts = exact.map(Math.floor);
  const order = exact
    .map((part, i) => ({ i, rest: part - Math.floor(part) }))
    .sort((a, b) => b.rest - a.rest || a.i - b.i);
  const left = whole - parts.reduce((sum, part) => sum + part, 0);
  for (const { i } of order.slice(0, left)) parts[i] = (parts[i] ?? 0) + 1;
  return parts;
}
