/** What a number measures, by its unit; `''` for a bare number. */
export type Measure = '' | 'time' | 'size' | 'share' | 'rate' | 'money';

export interface Amount {
  /** In base units: seconds, bytes, percent. */
  readonly value: number;
  readonly measure: Measure;
  /** The word that names it: `ms` of `ms=12`, `Maximum` of `"Maximum": 12`; `''` if there is none. */
  readonly name: string;
  readonly start: number;
  readonly end: number;
}

const TIME_UNITS: Readonly<Record<string, number>> = {
  ns: 1e-9,
  us: 1e-6,
  µs: 1e-6,
  μs: 1e-6,
  usec: 1e-6,
  ms: 1e-3,
  msec: 1e-3,
  msecs: 1e-3,
  milliseconds: 1e-3,
  millisecond: 1e-3,
  s: 1,
  sec: 1,
  secs: 1,
  second: 1,
  seconds: 1,
  secondes: 1,
  sekunden: 1,
  segundos: 1,
  m: 60,
  min: 60,
  mins: 60,
  minute: 60,
  minutes: 60,
  minuten: 60,
  minutos: 60,
  h: 3_600,
  hr: 3_600,
  hrs: 3_600,
  hour: 3_600,
  hours: 3_600,
  heures: 3_600,
  stunden: 3_600,
  horas: 3_600,
  d: 86_400,
  day: 86_400,
  days: 86_400,
  jours: 86_400,
  tage: 86_400,
  días: 86_400,
  w: 604_800,
  week: 604_800,
  weeks: 604_800,
  month: 2_592_000,
  months: 2_592_000,
  y: 31_536_000,
  year: 31_536_000,
  years: 31_536_000,
};
const POWERS = 'kmgtp';
const SIZE = /^(?:([kmgtp])i?(?:b|o|bytes?)?|b|o|bytes?|octets?|(?:kilo|mega|giga|tera)bytes?)$/i;
const PREFIXES: Readonly<Record<string, number>> = { kilo: 1, mega: 2, giga: 3, tera: 4 };

/** The measure and factor of a unit; `null` for a word that is none. */
function unitOf(unit: string): { readonly measure: Measure; readonly factor: number } | null {
  if (unit === '') return { measure: '', factor: 1 };
  if (unit === '%' || /^percent$/i.test(unit)) return { measure: 'share', factor: 1 };
  if (/^[$€£¥]$/.test(unit)) return { measure: 'money', factor: 1 };
  // `M` is a million or a megabyte, `m` a minute
  const time = TIME_UNITS[unit] ?? (unit.length > 1 ? TIME_UNITS[unit.toLowerCase()] : undefined);
  if (time !== undefined) return { measure: 'time', factor: time };
  const size = SIZE.exec(unit);
  if (size === null) return null;
  const power =
    size[1] === undefined ? (PREFIXES[unit.slice(0, 4).toLowerCase()] ?? 0) : POWERS.indexOf(size[1].toLowerCase()) + 1;
  return { measure: 'size', factor: 1_000 ** power };
}

const DIGITS =
  "\\d{1,3}(?:[,_'\\u00a0\\u202f]\\d{3})+(?:\\.\\d+)?|\\d{1,3}(?:\\.\\d{3}){2,}(?:,\\d+)?|\\d{1,15}(?:[.,]\\d{1,12})?(?:e[+-]?\\d{1,3})?";
const UNIT = '[a-zA-Zµμí]{1,12}|%';
/** A number with the signs around it that decide whether it is one. */
const AMOUNT = new RegExp(
  `(?<![A-Za-zÀ-ɏ\\d_./#\\\\-]|\\d[,':])(?<cash>[$€£¥])?(?<sign>(?<=^|[\\s=:(\\[|,"'])[-+])?(?<digits>${DIGITS})(?:(?<space>[ \\u00a0\\u202f]?)(?<unit>${UNIT})(?![A-Za-zÀ-ɏ_])(?<rate>/s\\b|/sec\\b|ps\\b)?|(?<paid>\\s?[€$£](?!\\w)))?`,
  'g',
);
/** The rest of a duration of several units: `1h 23m`, `2m3.4s`. */
const MORE = /^(?: ?)(\d{1,4}(?:\.\d{1,6})?)(ms|s|m|min|h|d|w|y)(?![\p{L}\d_])/u;
const FIRST_OF_MORE = /^(\d{1,5}(?:\.\d{1,6})?)(y|w|d|h|m)(?=\d)/u;
const NAME_CHARS = 48;
const NAME = /([\p{L}_][\p{L}\d_.%-]{0,40})["']?\s{0,3}[:=]\s{0,12}["']?[$€£(]?$/u;

/** The numbers of a line with their units, at most `most`; parts of names, dates, versions and addresses are none. */
export function amountsIn(line: string, most = 24): Amount[] {
  const found: Amount[] = [];
  if (!/\d/.test(line)) return found;
  for (let match = AMOUNT.exec(line); match !== null && found.length < most; match = AMOUNT.exec(line)) {
    const amount = amountAt(line, match);
    if (amount === null) continue;
    found.push(amount);
    AMOUNT.lastIndex = Math.max(AMOUNT.lastIndex, amount.end);
  }
  AMOUNT.lastIndex = 0;
  return found;
}

function amountAt(line: string, match: RegExpExecArray): Amount | null {
  const { cash = '', sign = '', digits = '', space = '', unit = '', rate = '', paid = '' } = match.groups ?? {};
  const start = match.index;
  const behindDigits = start + cash.length + sign.length + digits.length;
  const long = longDuration(line, behindDigits - digits.length);
  if (long !== null) return { ...long, measure: 'time', name: nameBefore(line, start), start };
  const known = unitOf(cash || paid.trim() || unit);
  // `12 errors` is a bare number before a word, `12px` is none at all
  const isBare = known === null && (space !== '' || unit === '');
  if (known === null && !isBare) return null;
  const { measure, factor } = known ?? { measure: '' as const, factor: 1 };
  const end = isBare ? behindDigits : start + match[0].length;
  // the rest of a date, clock, version, path or name
  if (/^(?:[.:/\\-]\d|[-_]\p{L}|\.\p{L})/u.test(line.slice(end, end + 2)) && rate === '') return null;
  if (isBare && /^\p{L}/u.test(line.slice(end))) return null;
  const value = (sign === '-' ? -1 : 1) * numberOf(digits) * factor;
  return { value, measure: rate === '' ? measure : 'rate', name: nameBefore(line, start), start, end };
}

function longDuration(line: string, start: number): { readonly value: number; readonly end: number } | null {
  const first = FIRST_OF_MORE.exec(line.slice(start, start + 24));
  if (first === null) return null;
  let value = Number(first[1]) * (TIME_UNITS[first[2] ?? ''] ?? 0);
  let end = start + first[0].length;
  for (let more = MORE.exec(line.slice(end, end + 16)); more !== null; more = MORE.exec(line.slice(end, end + 16))) {
    value += Number(more[1]) * (TIME_UNITS[more[2] ?? ''] ?? 0);
    end += more[0].length;
  }
  return end === start + first[0].length ? null : { value, end };
}

/** Reads `1,234.5`, `1.234.567,8`, `12,5` and `1e6`. */
export function numberOf(digits: string): number {
  if (/^\d{1,3}(?:\.\d{3}){2,}(?:,\d+)?$/.test(digits)) return Number(digits.replaceAll('.', '').replace(',', '.'));
  if (/^\d{1,3}(?:[,_'\u00a0\u202f]\d{3})+(?:\.\d+)?$/.test(digits))
    return Number(digits.replaceAll(/[,_'\u00a0\u202f]/g, ''));
  return Number(digits.replace(',', '.'));
}

function nameBefore(line: string, start: number): string {
  return NAME.exec(line.slice(Math.max(0, start - NAME_CHARS), start))?.[1] ?? '';
}

export function measureOfName(name: string): Measure {
  if (
    /(?:^|[_\W])(?:ms|msec|sec|secs|seconds?|time|duration|elapsed|latency|took|age|p\d\d)(?:$|[_\W])|duration|elapsed|latency|[a-z]Ms$|[a-z]Time$/i.test(
      name,
    )
  )
    return 'time';
  if (/bytes?|size|(?:^|[_\W])(?:[kmgt]i?b|rss|vsz|mem(?:ory)?|disk)(?:$|[_\W])|[a-z]Size$/i.test(name)) return 'size';
  if (/%|percent|pct/i.test(name)) return 'share';
  if (/price|cost|revenue|amount|usd|eur/i.test(name)) return 'money';
  return '';
}

/** The factor of a unit at the end of a name: `duration_ms`, `size_mb`; 1 if there is none. */
export function factorOfName(name: string): number {
  const unit =
    /(?:[_.(\s]|(?<=[a-z]))(ns|us|ms|msec|sec|secs|seconds|min|minutes|hours|kb|mb|gb|tb|kib|mib|gib|Ms)\)?$/i.exec(
      name,
    )?.[1];
  return unit === undefined ? 1 : (unitOf(unit.toLowerCase())?.factor ?? 1);
}
