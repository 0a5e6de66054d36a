import type { LogFormat } from '../format.ts';

/** What assertion libraries print of what they compared. */
export const assertions: LogFormat = [
  {
    name: 'detail',
    pattern:
      /^\s*(?:[+-] (?:Expected|Received|expected|actual)|(?:Expected|Received|expected|actual|left|right|operator|location)\s*:)/,
  },
];
