import type { LogFormat } from '../format.ts';

/** klog, used by Kubernetes: level and date in one word, time, thread, `file:line]`. */
export const klog: LogFormat = [
  { name: 'stamped', pattern: /^[IWEF]\d{4} \d\d:\d\d:\d\d\.\d{6} +\d+ \S+:\d+\]/ },
  { name: 'failure', pattern: /^[EF]\d{4} \d\d:\d\d:\d\d\.\d{6} / },
  { name: 'hot', pattern: /^[EF]\d{4} \d\d:\d\d:\d\d\.\d{6} / },
  { name: 'warm', pattern: /^W\d{4} \d\d:\d\d:\d\d\.\d{6} / },
];
