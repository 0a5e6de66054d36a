import { type Lines, lineAt, rawLine, startOf } from './lines.ts';
import { cleanReason, formatMarker } from './marker.ts';
import type { Cut, LineRange } from './types.ts';

/** One cut as the contract reports it (001 §6.1). */
export interface Annotation {
  readonly startLine: number;
  readonly endLine: number;
  readonly reason: string;
  /** The very string that stands in the text when markers are included. */
  readonly marker: string;
}

/** One replacement in a text, offsets in UTF-16 units: `[start, end)` gives way to `text`. */
export interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

export interface RenderOptions {
  readonly annotateLines: boolean;
  readonly includeMarkers: boolean;
}

/** Describes each cut of a plan; marker and annotation come from this one call. */
export function annotate(cuts: readonly Cut[], pruneId: string): Annotation[] {
  return cuts.map((cut) => {
    const reason = cleanReason(cut.reason);
    const { startLine, endLine } = cut;
    return { startLine, endLine, reason, marker: formatMarker({ pruneId, startLine, endLine, reason }) };
  });
}

/**
 * The edits that turn the original into the pruned text. A marker ends with LF, but for a cut that reaches the end of
 * a text without a final LF.
 */
export function editsOf(lines: Lines, annotations: readonly Annotation[], includeMarkers = true): Edit[] {
  return annotations.map(({ startLine, endLine, marker }) => {
    const start = startOf(lines, startLine);
    const end = startOf(lines, endLine + 1);
    const ending = lines.text.charCodeAt(end - 1) === 10 ? '\n' : '';
    return { start, end, text: includeMarkers ? marker + ending : '' };
  });
}

/** Applies edits that are in order and do not overlap. */
export function applyEdits(text: string, edits: readonly Edit[]): string {
  let out = '';
  let at = 0;
  for (const edit of edits) {
    out += text.slice(at, edit.start) + edit.text;
    at = edit.end;
  }
  return out + text.slice(at);
}

/** Puts `N│ ` in front of a line (001 §5.2). */
export function numbered(lineNumber: number, line: string): string {
  return `${lineNumber}│ ${line}`;
}

/** The pruned text: kept lines verbatim and in order, one marker line for each cut. */
export function renderText(lines: Lines, annotations: readonly Annotation[], options: RenderOptions): string {
  if (!options.annotateLines) return applyEdits(lines.text, editsOf(lines, annotations, options.includeMarkers));
  let out = '';
  let line = 1;
  const keepUpTo = (last: number): void => {
    for (; line <= last; line++) out += numbered(line, rawLine(lines, line));
  };
  const edits = editsOf(lines, annotations, options.includeMarkers);
  annotations.forEach((annotation, i) => {
    keepUpTo(annotation.startLine - 1);
    out += edits[i]?.text ?? '';
    line = annotation.endLine + 1;
  });
  keepUpTo(lines.count);
  return out;
}

/**
 * Lines as `recover_text` hands them out: the ranges in the order asked, overlaps and repeats included, joined by LF.
 * The last line has no ending, so that the text takes a marker's place exactly.
 */
export function renderRanges(lines: Lines, ranges: readonly LineRange[], withNumbers: boolean): string {
  const out: string[] = [];
  for (const { startLine, endLine } of ranges) {
    for (let line = startLine; line <= Math.min(endLine, lines.count); line++) {
      const content = lineAt(lines, line);
      out.push(withNumbers ? numbered(line, content) : content);
    }
  }
  return out.join('\n');
}
