import type { LogFormat } from '../format.ts';

/** Prefixes of service logs: dates, times of day, syslog, access logs, JSON records, levels. */
export const stamps: LogFormat = [
  {
    name: 'stamped',
    pattern:
      /^\[?\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d|^\[?\d\d:\d\d:\d\d|^[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|^\S+ \S+ \S+ \[\d\d\/[A-Z][a-z]{2}\/|^\{"(?:\w*time\w*|ts|level|msg|@timestamp)"|^(?:INFO|DEBUG|WARN|WARNING|ERROR|TRACE|FATAL)\b/,
  },
];
