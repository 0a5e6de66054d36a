/** One cut as its marker describes it. */
export interface MarkerFields {
  /** `''` in a short marker, which refers to the id of the full marker above. */
  readonly pruneId: string;
  readonly startLine: number;
  readonly endLine: number;
  /** `''` in a short marker. */
  readonly reason: string;
}

/** Prefix of every full marker: a cheap test before the exact match. */
const MARKER_PREFIX = '⟦PRUNÉ: prune_id=';

const SHORT_PREFIX = '⟦PRUNÉ: lignes ';
const SHORT_MARKER = /^⟦PRUNÉ: lignes (\d+)-(\d+) \((\d+)\)⟧$/u;
const MARKER = /^⟦PRUNÉ: prune_id=([^\s]+) lignes (\d+)-(\d+) \((\d+)\) raison=(.*)⟧$/u;

/** Maximum length of a reason, in characters; a longer one costs more than it helps. Set by hand. */
export const REASON_CHARS = 120;
/** Matches reasons that need no cleaning, which is the common case. */
const CLEAN = /^[!-~À-ÿœ](?:[!-~À-ÿœ]| (?! )){0,100}$/;

/** Makes any string usable as a marker's reason: one line, without marker brackets, limited in length. */
export function cleanReason(reason: string): string {
  if (CLEAN.test(reason) && !reason.endsWith(' ')) return reason;
  let out = '';
  for (const char of reason) {
    const code = char.codePointAt(0) ?? 0;
    const unfit =
      code < 0x20 ||
      (code >= 0x7f && code <= 0x9f) ||
      code === 0x2028 ||
      code === 0x2029 ||
      char === '⟦' ||
      char === '⟧';
    const lone = code >= 0xd800 && code <= 0xdfff;
    out += unfit || lone ? ' ' : char;
    if (out.length >= REASON_CHARS) break;
  }
  return out.replaceAll(/ {2,}/g, ' ').trim();
}

/** Formats the one-line marker that replaces a pruned block (docs/contract.md §5). `parseMarker` is its inverse. */
export function formatMarker({ pruneId, startLine, endLine, reason }: MarkerFields): string {
  const count = endLine - startLine + 1;
  return `⟦PRUNÉ: prune_id=${pruneId} lignes ${startLine}-${endLine} (${count}) raison=${cleanReason(reason)}⟧`;
}

/** Formats a short marker, for further cuts in a text whose first marker is full. `parseMarker` reads it too. */
export function formatShortMarker({ startLine, endLine }: Pick<MarkerFields, 'startLine' | 'endLine'>): string {
  return `${SHORT_PREFIX}${startLine}-${endLine} (${endLine - startLine + 1})⟧`;
}

export function mayHoldFullMarker(text: string): boolean {
  return text.includes(MARKER_PREFIX);
}

export function mayHoldShortMarker(text: string): boolean {
  return text.includes(SHORT_PREFIX);
}

/** Parses a full or short marker; `null` for any other line. */
export function parseMarker(line: string): MarkerFields | null {
  if (line.startsWith(MARKER_PREFIX)) {
    const [, pruneId, start, end, count, reason] = MARKER.exec(line) ?? [];
    return pruneId === undefined ? null : withRange(pruneId, start, end, count, reason);
  }
  const [, start, end, count] = line.startsWith(SHORT_PREFIX) ? (SHORT_MARKER.exec(line) ?? []) : [];
  return start === undefined ? null : withRange('', start, end, count);
}

function withRange(pruneId: string, start = '', end = '', count = '', reason = ''): MarkerFields | null {
  const startLine = Number(start);
  const endLine = Number(end);
  return Number(count) === endLine - startLine + 1 ? { pruneId, startLine, endLine, reason } : null;
}
