import type { LogFormat } from '../format.ts';

/** Package managers, image builds and build servers. */
export const builds: LogFormat = [
  { name: 'stamped', pattern: /^(?:npm|yarn|pip)\b/ },
  { name: 'step', pattern: /^\[Pipeline\] stage|^Step \d+\/\d+ :/ },
  { name: 'summary', pattern: /^\s*npm ERR!/i },
  // terraform and tofu
  { name: 'summary', pattern: /^(?:Plan: \d+ to |(?:Apply|Destroy) complete! |No changes\. )/ },
];
