import type { LogFormat } from '../format.ts';

export const compilers: LogFormat = [
  {
    name: 'compiler',
    pattern:
      /^\S+[:(]\d+[:,)]\s?(?:\d+[:)]?)?:?\s*(?:fatal )?(?:error|warning|note)\b|^(?:error|warning)(?:\[\w+\])?: |^\s+-->\s\S+:\d+|^make(?:\[\d+\])?: |: error TS\d+/,
  },
  // below an error of javac, also under Maven, indented lines say what was not found and where
  { name: 'detailed', pattern: /^\[ERROR\] \S+:\[\d+,\d+\] |^\S+\.java:\d+: error: / },
  { name: 'summary', pattern: /^\s*(?:Found \d+ error|make: \*\*\*)/i },
];
