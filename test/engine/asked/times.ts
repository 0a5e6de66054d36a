import { type AskedCase, command, saying, two } from './texts.ts';

const MONTHS = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ');
/** A second of 2026-05-11 as a date, moved by an offset in minutes. */
const at = (second: number, offset = 0): Date => new Date(Date.UTC(2026, 4, 11, 0, 0, second) + offset * 60_000);
const hms = (date: Date): string =>
  `${two(date.getUTCHours())}:${two(date.getUTCMinutes())}:${two(date.getUTCSeconds())}`;
const ymd = (date: Date, sep = '-'): string =>
  [date.getUTCFullYear(), two(date.getUTCMonth() + 1), two(date.getUTCDate())].join(sep);
const half = (date: Date): string =>
  `${date.getUTCHours() % 12 || 12}:${two(date.getUTCMinutes())}:${two(date.getUTCSeconds())} ${date.getUTCHours() < 12 ? 'AM' : 'PM'}`;

/** How a text writes the time of a line (seconds since midnight in Greenwich). */
export const FORMATS: Readonly<Record<string, (second: number) => string>> = {
  'ISO in UTC': (s) => `${ymd(at(s))}T${hms(at(s))}.120Z`,
  'ISO with an offset': (s) => `${ymd(at(s, 120))}T${hms(at(s, 120))}+02:00`,
  'date and time': (s) => `${ymd(at(s))} ${hms(at(s))},314`,
  slashes: (s) => `${ymd(at(s), '/')} ${hms(at(s))}`,
  syslog: (s) => `${MONTHS[at(s).getUTCMonth()]} ${at(s).getUTCDate()} ${hms(at(s))}`,
  'access log': (s) =>
    `10.0.0.1 - - [${two(at(s).getUTCDate())}/${MONTHS[at(s).getUTCMonth()]}/2026:${hms(at(s))} +0000]`,
  'time only': (s) => `[${hms(at(s))}]`,
  'twelve hours': (s) => `5/11/2026 ${half(at(s))}`,
  'seconds of the epoch': (s) => `ts=${Math.floor(at(s).getTime() / 1_000)}`,
  'milliseconds of the epoch': (s) => `{"time":${at(s).getTime()},"x":1}`,
  klog: (s) => `I0511 ${hms(at(s))}.123456       1 main.go:12]`,
  compact: (s) => `20260511T${hms(at(s)).replaceAll(':', '')}Z`,
};

/** Questions about the minute 14:12, or a span that begins with it; `[from, to)` in seconds in Greenwich. */
export const QUESTIONS: readonly {
  readonly goal: string;
  readonly from: number;
  readonly to: number;
  readonly zoned?: boolean;
}[] = [
  { goal: 'What did the service do at 14:12?', from: 51_120, to: 51_180 },
  { goal: 'What happened between 14:10 and 14:20?', from: 51_000, to: 51_660 },
  { goal: 'Show me 2:12 pm', from: 51_120, to: 51_180 },
  { goal: "Que s'est-il passé à 14h12 ?", from: 51_120, to: 51_180 },
  { goal: 'Was geschah zwischen 14:10 und 14:20 Uhr?', from: 51_000, to: 51_660 },
  { goal: '¿Qué pasó entre las 14:10 y las 14:20?', from: 51_000, to: 51_660 },
  { goal: 'On May 11 at 14:12, what did the worker do?', from: 51_120, to: 51_180 },
  { goal: 'Explain the events from 14:10 to 14:20 on 2026-05-11.', from: 51_000, to: 51_660 },
  { goal: 'Show 2026-05-11 between 14:10 and 14:20', from: 51_000, to: 51_660 },
  { goal: 'What was going on at 16:12 CEST?', from: 51_120, to: 51_180, zoned: true },
  { goal: 'And at 14:12 UTC?', from: 51_120, to: 51_180, zoned: true },
];

/** Formats whose lines say their zone. */
const SAYS_ZONE = new Set([
  'ISO in UTC',
  'ISO with an offset',
  'access log',
  'compact',
  'seconds of the epoch',
  'milliseconds of the epoch',
]);

/** Lines over about eight hours. */
export const timeCases: readonly AskedCase[] = Object.entries(FORMATS).flatMap(([format, stamp], f) =>
  QUESTIONS.flatMap(({ goal, from, to, zoned = false }, q): AskedCase[] => {
    if (zoned && !SAYS_ZONE.has(format)) return [];
    // a question without a zone means the clock that stands in the text
    const shift = format === 'ISO with an offset' && !zoned ? 7_200 : 0;
    const seconds = Array.from({ length: 600 }, (_, i) => 36_000 + i * 48 + ((i * 37 + f + q) % 29));
    const answers = seconds.flatMap((s, i) => (s + shift >= from && s + shift < to ? i : []));
    const lines = seconds.map((s, i) => `${stamp(s)} INFO ${saying(i)}`);
    return [{ name: `${format}: ${goal}`, goal, lines, answers, hints: command('journalctl -u worker') }];
  }),
);
