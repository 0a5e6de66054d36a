import type { LogFormat } from '../format.ts';

/** Words with which programs of all kinds report failures. */
export const plainFailures: LogFormat = [
  { name: 'failing', pattern: /\b(?:error|exception|traceback|panic|fatal|failed)\b/i },
  { name: 'failure', pattern: /error|exception|traceback|\bexited \([1-9]/i },
  {
    name: 'trouble',
    pattern: /fatal|panic|fail|\bassert|\babort|segfault|segmentation|\bcannot\b|\bdenied\b|✗|✖|✕/i,
  },
  {
    name: 'hot',
    pattern:
      /\b(?:error|errors|failed|failure|failures|fail|fatal|panic(?:ked)?|exception|traceback|undefined|cannot|not found|denied|timed? ?out|unexpected|assert\w*|segmentation|abort(?:ed)?|refused|killed|unable|invalid|missing)\b|✖|✗|Error\b|\bE\d{3,4}\b/i,
  },
  {
    name: 'cold',
    pattern:
      /\b(?:0 (?:errors|failures|failed)|no errors|error_?log|errors?=0|failures?[:=] ?0|--fail|fail-fast|-Werror|ignore.?error)\b/i,
  },
  { name: 'warm', pattern: /\bwarn(?:ing)?\b|\bretry|\bdeprecat|\bslow\b/i },
  { name: 'summary', pattern: /^\s*(?:\d+ errors?\b|\d+ warnings?\b|exit(?:ed)? (?:code|status))/i },
];
