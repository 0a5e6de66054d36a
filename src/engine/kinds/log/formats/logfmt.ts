import type { LogFormat } from '../format.ts';

/** logfmt, used by many Go services and Heroku: `ts=… level=warn msg="…" key=value`. */
export const logfmt: LogFormat = [
  { name: 'stamped', pattern: /^(?:ts|time|t|level|lvl|severity|msg|caller|logger|component)=\S/ },
  { name: 'failure', pattern: /\b(?:level|lvl|severity)="?(?:err|fatal|panic|crit|alert|emerg)/i },
  { name: 'hot', pattern: /\b(?:level|lvl|severity)="?(?:err|fatal|panic|crit|alert|emerg)/i },
  { name: 'cold', pattern: /\b(?:err|error)=(?:nil|null|none|<nil>|""|"<nil>")(?: |$)/i },
];
