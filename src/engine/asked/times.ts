import { contentOf, isBlankLine, type View } from '../text/view.ts';
import {
  type Clock,
  ClockReader,
  clocksIn,
  type Day,
  type FoundClock,
  inZone,
  isSameDay,
  ZONE,
  zoneOf,
} from './clocks.ts';

/** A span of time that the goal names; both ends belong to it. */
interface TimeSpan {
  readonly day: Day | null;
  /** The day of the last second, if it differs. */
  readonly lastDay: Day | null;
  readonly from: number;
  readonly to: number;
  readonly zone: number | null;
}

const DAY_END = 86_399;
/** Maximum number of clocks that are read in a goal. Set by hand, like all below. */
const MOST_CLOCKS = 12;
/** Tolerance of `around 14:12`, in seconds. */
const AROUND = 180;
/** Maximum distance between a date and the time that belongs to it, in characters. */
const BESIDE = 12;

/** An hour without minutes. */
const HOUR = new RegExp(
  `(?<![\\p{L}\\d:./-])(?<h>\\d{1,2})(?:\\s?(?<half>[ap]\\.?m\\.?)(?![\\p{L}])|(?:\\s?(?:o'clock|uhr|heures?|h)|\\.(?<m>\\d{2})\\s?uhr)(?![\\p{L}\\d]))(?:\\s?(?<zone>${ZONE}))?`,
  'giu',
);
const JOINS =
  /^\s*(?:to|till?|until|through|thru|and|et|à|a|bis|und|y|e|até|hasta|al|-|–|—|→|\.{2,3})\s*(?:(?:the|las?|les|às|um|le|am|el)\s*)?$/i;
const AND = /^\s*(?:and|et|und|y|e)\b/i;
const BETWEEN = /\b(?:between|entre|zwischen|tra)\s+(?:(?:the|las?|les|as|le|am|el|um)\s+)?$/i;
const AFTER =
  /(?:\b(?:after|since|from|past|nach|seit|ab|après|depuis|desde|depois d[ae]s?|después de(?: las?)?)|>=?)\s+(?:um\s+)?$/iu;
const BEFORE = /(?:\b(?:before|until|till|prior to|vor|avant|antes de(?: las?)?|antes das?)|<=?)\s+$/iu;
const NEAR =
  /\b(?:around|about|near|shortly before|shortly after|roughly|approximately|circa|vers|gegen|sobre las?|hacia las?|por volta das?)\s+$|~\s?$/iu;

/** What may stand between a date and its time. */
const PART_OF_CLOCK = /^[\sT,]{0,3}(?:(?:at|um|à|a las?|às)\s)?$/i;

/** A clock of the goal with what stands before it. */
interface NamedClock extends FoundClock {
  /** Number of seconds that it covers. */
  readonly covers: number;
}

export function spansOf(goal: string): TimeSpan[] {
  if (!/\d/.test(goal)) return [];
  const named = namedClocks(goal);
  const spans: TimeSpan[] = [];
  for (let k = 0; k < named.length; k++) {
    const one = named[k];
    const other = named[k + 1];
    if (one === undefined) continue;
    const before = goal.slice(Math.max(0, one.start - 24), one.start);
    const between = other === undefined ? '' : goal.slice(one.end, other.start);
    if (other !== undefined && JOINS.test(between) && (!AND.test(between) || BETWEEN.test(before))) {
      spans.push(joined(one, other));
      k++;
    } else spans.push(spanOf(one, before));
  }
  return spans;
}

function joined(one: NamedClock, other: NamedClock): TimeSpan {
  const isDays = one.second < 0 && other.second < 0;
  return {
    day: one.day ?? other.day,
    lastDay: other.day ?? one.day,
    from: Math.max(0, one.second),
    to: isDays ? DAY_END : other.second + (other.covers === 3_600 ? 0 : other.covers) - 1,
    zone: other.zone ?? one.zone,
  };
}

function spanOf(one: NamedClock, before: string): TimeSpan {
  const { day, zone } = one;
  const bare = { day, lastDay: day, zone };
  if (one.second < 0) return { ...bare, from: 0, to: DAY_END };
  if (NEAR.test(before)) return { ...bare, from: one.second - AROUND, to: one.second + AROUND };
  if (AFTER.test(before)) return { ...bare, from: one.second, to: DAY_END };
  if (BEFORE.test(before)) return { ...bare, from: 0, to: one.second + one.covers - 1 };
  return { ...bare, from: one.second, to: one.second + one.covers - 1 };
}

/** The clocks of a goal in order; a time has the date beside it, or the only date of the goal. */
function namedClocks(goal: string): NamedClock[] {
  const found: NamedClock[] = clocksIn(goal, MOST_CLOCKS).map((clock) => ({
    ...clock,
    covers:
      clock.second < 0
        ? DAY_END + 1
        : /\d[:hm]\d{2}[:m]\d{2}|^1\d{9}/.test(goal.slice(clock.start, clock.end))
          ? 1
          : 60,
  }));
  for (const { groups = {}, index, 0: text } of goal.matchAll(HOUR)) {
    const hour = Number(groups.h);
    const half = groups.half ?? '';
    const end = index + text.length;
    if (hour > 23 || found.some((other) => index < other.end && other.start < end)) continue;
    const h = half === '' ? hour : (hour % 12) + (/^p/i.test(half) ? 12 : 0);
    const second = h * 3_600 + Number(groups.m ?? 0) * 60;
    found.push({ day: null, second, zone: zoneOf(groups.zone), start: index, end, covers: groups.m ? 60 : 3_600 });
  }
  found.sort((a, b) => a.start - b.start);
  const days = found.filter(({ second }) => second < 0);
  const times = found.filter(({ second }) => second >= 0);
  if (times.length === 0) return days;
  const only = found.filter(({ day }) => day !== null);
  const used = new Set<NamedClock>();
  const dated = times.map((time): NamedClock => {
    if (time.day !== null) return time;
    const beside =
      days.find(({ start, end }) => distance(start, end, time) <= BESIDE) ?? (only.length === 1 ? only[0] : undefined);
    if (beside === undefined) return time;
    used.add(beside);
    // `2026-05-11 at 14:12` reads as one clock, `2026-05-11 between 14:10 and 14:20` does not
    const between = beside.end <= time.start ? goal.slice(beside.end, time.start) : null;
    const start = beside.second < 0 && between !== null && PART_OF_CLOCK.test(between) ? beside.start : time.start;
    return { ...time, day: beside.day, start };
  });
  return [...dated, ...days.filter((day) => !used.has(day))].sort((a, b) => a.start - b.start);
}

function distance(start: number, end: number, other: FoundClock): number {
  return start > other.start ? start - other.end : other.start - end;
}

/** Characters read per line, and lines at the top that may name the text's time zone. Set by hand, like the next. */
const READ_CHARS = 500;
const HEAD_LINES = 12;
const OWN_ZONE = new RegExp(
  `(?:time ?zone|times?(?:tamps?)?(?: are| is)?(?: in)?|heures?(?: en)?|zeiten?(?: in)?|\\bTZ)["']?\\s?[:=]?\\s?["']?(${ZONE})`,
  'iu',
);
/** Minimum share of lines with a clock for the others to belong to the clock above, and how many of them at most. */
const CLOCKED = 0.3;
const MOST_BELOW = 30;

interface LineClocks {
  readonly clocks: readonly (readonly Clock[])[];
  /** Lines without a clock belong to the line above. */
  readonly carries: boolean;
}

export function lineClocks(view: View): LineClocks {
  const reader = new ClockReader();
  const own = ownZone(view);
  let clocked = 0;
  let filled = 0;
  const clocks = Array.from({ length: view.n }, (_, i): readonly Clock[] => {
    if (isBlankLine(view, i)) return [];
    filled++;
    const found = reader.read(contentOf(view, i, READ_CHARS));
    if (found.length > 0) clocked++;
    return own === null ? found : found.map((clock) => ({ ...clock, zone: clock.zone ?? own }));
  });
  return { clocks, carries: clocked > filled * CLOCKED };
}

function ownZone(view: View): number | null {
  for (let i = 0; i < Math.min(view.n, HEAD_LINES); i++) {
    const zone = zoneOf(OWN_ZONE.exec(contentOf(view, i))?.[1]);
    if (zone !== null) return zone;
  }
  return null;
}

/** The lines of a time span in order, with the lines that belong to them; if there are none, the nearest lines. */
export function linesWithin({ clocks, carries }: LineClocks, span: TimeSpan): number[] {
  const lines: number[] = [];
  let inside = false;
  let below = 0;
  for (const [i, found] of clocks.entries()) {
    if (found.length > 0) {
      inside = found.some((clock) => isWithin(inZone(clock, span.zone), span));
      below = 0;
    } else if (!carries || ++below > MOST_BELOW) inside = false;
    if (inside) lines.push(i);
  }
  return lines.length > 0 ? lines : nearest(clocks, span);
}

function isWithin({ day, second }: Clock, { day: first, lastDay, from, to }: TimeSpan): boolean {
  const at = Math.max(0, second);
  if (day !== null && first !== null && lastDay !== null) {
    const [start, end] = [isSameDay(day, first), isSameDay(day, lastDay)];
    if (isSameDay(first, lastDay)) return start && (second < 0 || isBetween(at, from, to));
    if (start) return second < 0 || at >= from;
    if (end) return second < 0 || at <= to;
    const order = (one: Day): number => (one.year || day.year || 2_000) * 372 + one.month * 31 + one.day;
    return order(day) > order(first) && order(day) < order(lastDay);
  }
  return second >= 0 && isBetween(at, from, to) && !(first !== null && from === 0 && to === DAY_END);
}

/** Whether a time lies in a span that may go past midnight. */
function isBetween(at: number, from: number, to: number): boolean {
  return from <= to ? at >= from && at <= to : at >= from || at <= to;
}

/** The last line before and the first line after a time on which nothing happened. */
function nearest(clocks: LineClocks['clocks'], { day: first, from, to, zone }: TimeSpan): number[] {
  if (from === 0 && to === DAY_END) return [];
  let [before, after] = [-1, -1];
  for (const [i, found] of clocks.entries()) {
    const [clock] = found;
    if (clock === undefined || clock.second < 0) continue;
    const { day, second } = inZone(clock, zone);
    if (day !== null && first !== null && !isSameDay(day, first)) continue;
    if (second < from) before = i;
    else if (second > to && after < 0) after = i;
  }
  return [before, after].filter((i) => i >= 0);
}
