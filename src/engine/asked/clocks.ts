/** A date; `year` is 0 if the text does not say it. `swapped` is true if day and month may be the other way round. */
export interface Day {
  readonly year: number;
  readonly month: number;
  readonly day: number;
  readonly swapped?: boolean;
}

export interface Clock {
  readonly day: Day | null;
  /** Seconds since midnight; -1 for a date without a time. */
  readonly second: number;
  /** Minutes east of Greenwich; `null` if the text does not say. */
  readonly zone: number | null;
}

const MONTHS =
  'jan feb mar apr may jun jul aug sep oct nov dec|janv févr mars avr mai juin juil août sept octo nove déc|jän febr mär apri mai juni juli augu sept okt nov dez|ene feb mar abr may jun jul ago sep oct nov dic'
    .split('|')
    .map((names) => names.split(' '));
const MONTH =
  'jan(?:uary|vier|uar)?|jän(?:ner)?|enero|feb(?:ruary|ruar|rero)?|févr(?:ier)?|mar(?:ch|s|zo)?|märz|apr(?:il)?|avr(?:il)?|abr(?:il)?|may(?:o)?|mai|june?|juni|juin|junio|july?|juli|juil(?:let)?|julio|aug(?:ust)?|août|ago(?:sto)?|sept?(?:ember|embre|tembre)?|oct(?:ober|obre)?|okt(?:ober)?|nov(?:ember|embre)?|dec(?:ember)?|déc(?:embre)?|dez(?:ember)?|dic(?:iembre)?';

function monthOf(name: string): number {
  const lower = name.toLowerCase();
  for (const names of MONTHS) {
    const at = names.findIndex((one) => lower.startsWith(one));
    if (at >= 0) return at + 1;
  }
  return 0;
}

/** Minutes east of Greenwich by the usual abbreviations. */
const ZONES: Readonly<Record<string, number>> = {
  z: 0,
  utc: 0,
  gmt: 0,
  wet: 0,
  bst: 60,
  west: 60,
  cet: 60,
  mez: 60,
  cest: 120,
  mesz: 120,
  eet: 120,
  eest: 180,
  msk: 180,
  ist: 330,
  sgt: 480,
  jst: 540,
  kst: 540,
  aest: 600,
  aedt: 660,
  est: -300,
  edt: -240,
  cst: -360,
  cdt: -300,
  mst: -420,
  mdt: -360,
  pst: -480,
  pdt: -420,
};
export const ZONE = `(?:UTC|GMT)?[+-]\\d{2}:?\\d{2}\\b|(?:UTC|GMT)[+-]\\d{1,2}\\b|(?:${Object.keys(ZONES).slice(1).join('|')})\\b|Z\\b`;

/** Minutes east of Greenwich; `null` for an unknown zone. */
export function zoneOf(name: string | undefined): number | null {
  if (name === undefined || name === '') return null;
  const offset = /([+-])(\d{1,2}):?(\d{2})?$/.exec(name);
  if (offset) return (offset[1] === '-' ? -1 : 1) * (Number(offset[2]) * 60 + Number(offset[3] ?? 0));
  return ZONES[name.toLowerCase()] ?? null;
}

/** Seconds since midnight, or -1 if there is no such time. */
function secondOf(hour: string, minute = '0', second = '0', half = ''): number {
  let h = Number(hour);
  if (half !== '') {
    if (h < 1 || h > 12) return -1;
    h = (h % 12) + (/^p/i.test(half) ? 12 : 0);
  }
  const [m, s] = [Number(minute), Number(second)];
  return h > 23 || m > 59 || s > 60 ? -1 : h * 3_600 + m * 60 + s;
}

const TIME = `(?<h>\\d{1,2})[:h](?<m>\\d{2})(?:[:m](?<s>\\d{2})(?:[.,]\\d{1,9})?)?s?(?:\\s?(?<half>[AaPp]\\.?[Mm]\\.?)(?![A-Za-z]))?(?:\\s?(?<zone>${ZONE}))?`;
const BEHIND = '(?![\\d:])';
const DATE_TIME = '[T ,_:]{1,2}(?:(?:at|um|à)\\s)?';

/** Formats of a point in time, the most specific first; those with a date may lack the time. */
const FORMATS: readonly RegExp[] = [
  new RegExp(
    `(?<![\\d.])(?<y>\\d{4})[-/.](?<mo>\\d{2})[-/.](?<d>\\d{2})(?:(?:${DATE_TIME}${TIME}|_(?<h2>\\d{2})-(?<m2>\\d{2})-(?<s2>\\d{2}))${BEHIND}|(?![\\d/.-]))`,
    'giu',
  ),
  /(?<!\d)(?<y>20\d{2})(?<mo>[01]\d)(?<d>[0-3]\d)[T_-](?<h>[0-2]\d)(?<m>[0-5]\d)(?<s>[0-5]\d)(?<zone>Z)?(?!\d)/gu,
  new RegExp(
    `(?<![\\d\\p{L}])(?<d>\\d{1,2})(?:st|nd|rd|th|\\.)?[-/ ](?:of |de )?(?<name>${MONTH})\\.?(?:[-/ ,]{1,2}(?:de )?(?<y>\\d{4}))?(?![\\p{L}])(?:${DATE_TIME}${TIME}${BEHIND})?`,
    'giu',
  ),
  new RegExp(
    `(?<![\\p{L}\\d])(?<name>${MONTH})\\.?\\s{1,2}(?<d>\\d{1,2})(?:st|nd|rd|th)?(?![\\d:])(?:,?\\s{1,2}(?<y>\\d{4})(?![\\d:]))?(?:,?\\s(?:at\\s)?${TIME}${BEHIND})?(?:\\s(?<y2>\\d{4})(?!\\d))?`,
    'giu',
  ),
  new RegExp(
    `(?<![\\d./])(?<a>\\d{1,2})(?<sep>[/.])(?<b>\\d{1,2})\\k<sep>(?<y>\\d{4}|\\d{2})(?![\\d./])(?:${DATE_TIME}${TIME}${BEHIND})?`,
    'giu',
  ),
  /(?<![\p{L}\d])[IWEFD](?<mo>[01]\d)(?<d>[0-3]\d)\s(?<h>\d{2}):(?<m>\d{2}):(?<s>\d{2})(?:\.\d+)?/gu,
  new RegExp(`(?<![\\p{L}\\d:./-])${TIME}${BEHIND}`, 'giu'),
  /(?<![\p{L}\d.-]|\d:)(?<epoch>1\d{9})(?:\d{3}|\d{6}|\d{9})?(?:\.\d{1,9})?(?![\d:\p{L}-])/gu,
];

/** A clock in a text, at `[start, end)`. */
export interface FoundClock extends Clock {
  readonly start: number;
  readonly end: number;
}

/** Whether a line may hold a clock: figures joined by a sign, many figures, or a figure beside a name. */
const MAY_HOLD_CLOCK = /\d[:h/.-]\d|\d{8}|\d[-/ .][A-Za-z]|[A-Za-zéûä]{3}\.? {1,2}\d/;

/** Reads the clocks of texts with the same formats. Remembers which format the last line used, and tries that first. */
export class ClockReader {
  #usual = 0;

  /** The clocks of a line in its usual format, at most `most`; empty if it has none. */
  read(line: string, most = 3): FoundClock[] {
    if (!MAY_HOLD_CLOCK.test(line)) return [];
    const formats = [this.#usual, ...FORMATS.keys()];
    for (const [k, format] of formats.entries()) {
      if (k > 0 && format === this.#usual) continue;
      const pattern = FORMATS[format];
      if (pattern === undefined) continue;
      const found: FoundClock[] = [];
      for (const match of line.matchAll(pattern)) {
        const clock = clockOf(match);
        if (clock !== null) found.push({ ...clock, start: match.index, end: match.index + match[0].length });
        if (found.length === most) break;
      }
      // a date without a time may stand before a time of another format
      if (found.length === 0) continue;
      this.#usual = format;
      return found;
    }
    return [];
  }
}

/** All clocks of a text in all formats, in order; where two overlap, the more specific one. */
export function clocksIn(text: string, most: number): FoundClock[] {
  const found: FoundClock[] = [];
  for (const pattern of FORMATS) {
    for (const match of text.matchAll(pattern)) {
      const [start, end] = [match.index, match.index + match[0].length];
      if (found.length >= most || found.some((other) => start < other.end && other.start < end)) continue;
      const clock = clockOf(match);
      if (clock !== null) found.push({ ...clock, start, end });
    }
  }
  return found.sort((a, b) => a.start - b.start);
}

function clockOf({ groups = {} }: RegExpMatchArray): Clock | null {
  const { epoch } = groups;
  if (epoch !== undefined) return clockOfEpoch(Number(epoch));
  const day = dayOf(groups);
  if (day === undefined) return null;
  const hour = groups.h ?? groups.h2;
  const second = hour === undefined ? -1 : secondOf(hour, groups.m ?? groups.m2, groups.s ?? groups.s2, groups.half);
  if (hour !== undefined && second < 0) return null;
  // `2 may be` is no date
  if (second < 0 && day?.year === 0 && /^(?:may|mar|dec)$/.test(groups.name ?? '')) return null;
  return second < 0 && day === null ? null : { day, second, zone: zoneOf(groups.zone) };
}

function clockOfEpoch(seconds: number): Clock {
  const date = new Date(seconds * 1_000);
  const day = { year: date.getUTCFullYear(), month: date.getUTCMonth() + 1, day: date.getUTCDate() };
  return { day, second: seconds % 86_400, zone: 0 };
}

/** The day of a match: `null` if it has none, `undefined` if there is no such day. */
function dayOf({ y, y2, mo, d, name, a, b }: Readonly<Record<string, string | undefined>>): Day | null | undefined {
  const century = (year: string): number => (year.length === 2 ? 2_000 + Number(year) : Number(year));
  if (a !== undefined && b !== undefined) {
    const [first, second] = [Number(a), Number(b)];
    const isDayFirst = first > 12;
    const [month, day] = isDayFirst ? [second, first] : [first, second];
    const swapped = first <= 12 && second <= 12;
    return month < 1 || month > 12 || day < 1 || day > 31
      ? undefined
      : { year: century(y ?? '0'), month, day, swapped };
  }
  if (d === undefined) return null;
  const month = name === undefined ? Number(mo) : monthOf(name);
  const day = Number(d);
  return month < 1 || month > 12 || day < 1 || day > 31 ? undefined : { year: Number(y ?? y2 ?? 0), month, day };
}

/** A clock in another zone; unchanged if either zone is unknown. */
export function inZone(clock: Clock, zone: number | null): Clock {
  if (zone === null || clock.zone === null || clock.second < 0 || zone === clock.zone) return clock;
  const moved = clock.second + (zone - clock.zone) * 60;
  const days = Math.floor(moved / 86_400);
  return { day: shifted(clock.day, days), second: moved - days * 86_400, zone };
}

function shifted(day: Day | null, days: number): Day | null {
  if (day === null || days === 0) return day;
  const date = new Date(Date.UTC(day.year || 2_000, day.month - 1, day.day + days));
  const year = day.year === 0 ? 0 : date.getUTCFullYear();
  return { year, month: date.getUTCMonth() + 1, day: date.getUTCDate() };
}

export function isSameDay(a: Day, b: Day): boolean {
  if (a.year !== 0 && b.year !== 0 && a.year !== b.year) return false;
  if (a.month === b.month && a.day === b.day) return true;
  return (a.swapped === true || b.swapped === true) && a.month === b.day && a.day === b.month;
}

/** Seconds of a clock on a scale that orders the clocks of one text. A date without a year counts as recent. */
export function orderOf({ day, second, zone }: Clock): number {
  const days = day === null ? 0 : Date.UTC(day.year || 2_100, day.month - 1, day.day) / 1_000;
  return days + Math.max(0, second) - (zone ?? 0) * 60;
}
