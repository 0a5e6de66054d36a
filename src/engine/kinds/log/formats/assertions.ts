import type { LogFormat } from '../format.ts';

/** Comparisons printed by assertion libraries. */
export const assertions: LogFormat = [
  {
    name: 'detail',
    pattern:
      /^\s*(?:[+-] (?:Expected|Received|expected|actual)|(?:Expected|Received|expected|actual|left|right|operator|location)\s*:)/,
  },
];
