import { lineAt } from '../text/lines.ts';
import { isBlankLine, type View } from '../text/view.ts';
import type { Kind, Protect, Protectable } from './kind.ts';
import { stamps } from './log/formats/stamps.ts';
import { log } from './log/log.ts';

/** Search hits in logs. Each hit is a log line prefixed with its location; the rest is treated like a log line. */
export const greppedLog: Kind = {
  ...log,
  names: { 'grepped-log': '' },
  shapes: [],
  // only recognised once a text is known to consist of hits
  looksLike: () => 0,
  contentStart: behindPlace,
  protect(text, protect) {
    log.protect(text, protect);
    protectFirstOfFile(text, protect);
  },
};

/** Number of leading characters searched for the location and the beginning of the log line. Set by hand. */
const READ_CHARS = 300;
/** Location prefix: `app.log:12:`, `12:`, `app.log:`, or `app.log-12-` and `12-` for context lines. */
const PLACE = /^(?:[^\s:]{1,200}:)?\d{1,9}:|^(?:[^\s:]{1,200}?-)?\d{1,9}-|^[^\s:]{1,200}:/;
const FILE = /^([^\s:]{1,200}):(?:\d{1,9}:)?|^([^\s:]{1,200}?)-\d{1,9}-/;

function isStamped(line: string): boolean {
  return stamps.some(({ pattern }) => pattern.test(line));
}

function behindPlace(text: string, start: number, end: number): number {
  const line = text.slice(start, Math.min(end, start + READ_CHARS));
  return isStamped(line) ? start : start + (PLACE.exec(line)?.[0].length ?? 0);
}

/** Number of examined hits, and the share that must be log lines, the same as for any log. Set by hand. */
const SAMPLE = 60;
const MIN_STAMPED = 0.6;

/** Whether most search hits are log lines. */
export function isGreppedLog({ text, lines: { starts }, to, n }: View): boolean {
  const step = Math.max(1, Math.floor(n / SAMPLE));
  let looked = 0;
  let stamped = 0;
  for (let i = 0; i < n; i += step) {
    const start = starts[i] ?? 0;
    const end = to[i] ?? 0;
    if (end - start < 3) continue; // skips `--` between groups of hits
    looked++;
    const at = behindPlace(text, start, end);
    if (isStamped(text.slice(at, Math.min(end, at + READ_CHARS)))) stamped++;
  }
  return stamped > 0 && stamped >= looked * MIN_STAMPED;
}

function protectFirstOfFile({ view, inner }: Protectable, protect: Protect): void {
  const seen = new Set<string>();
  for (let i = inner.first; i < inner.end && seen.size < MOST_FILES; i++) {
    if (isBlankLine(view, i) || (view.from[i] ?? 0) === (view.lines.starts[i] ?? 0)) continue;
    const [, hit, around] = FILE.exec(lineAt(view.lines, i + 1).slice(0, READ_CHARS)) ?? [];
    const file = hit ?? around ?? '';
    if (file === '' || /^\d+$/.test(file) || seen.has(file)) continue;
    seen.add(file);
    protect(i, 'file-spread');
  }
}

/** Maximum number of files with a kept hit. Set by hand: nobody reads more of them one by one. */
const MOST_FILES = 200;
