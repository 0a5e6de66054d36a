import type { LogFormat } from '../format.ts';

export const compilers: LogFormat = [
  {
    name: 'compiler',
    pattern:
      /^\S+[:(]\d+[:,)]\s?(?:\d+[:)]?)?:?\s*(?:fatal )?(?:error|warning|note)\b|^(?:error|warning)(?:\[\w+\])?: |^\s+-->\s\S+:\d+|^make(?:\[\d+\])?: |: error TS\d+/,
  },
  { name: 'summary', pattern: /^\s*(?:Found \d+ error|make: \*\*\*)/i },
];
