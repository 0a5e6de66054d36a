import type { Cut, LineRange } from '../types.ts';
import { LINE_FEED } from './chars.ts';
import { type Lines, lineAt, startOf } from './lines.ts';
import { cleanReason, formatMarker, formatShortMarker } from './marker.ts';

/** Separates a line's number from its content. */
const NUMBER_SEPARATOR = '│ ';

export interface Annotation {
  readonly startLine: number;
  readonly endLine: number;
  readonly reason: string;
  /** The full marker. In the text, `shortMarkers` usually shortens all but the first. */
  readonly marker: string;
  /** See `Cut`. */
  readonly full?: true;
}

/** One replacement in a text, offsets in UTF-16 units: `[start, end)` is replaced by `text`. */
export interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

export interface RenderOptions {
  readonly annotateLines: boolean;
  readonly includeMarkers: boolean;
  /** The first marker is full; further ones only name their lines, except for cuts with `full`. */
  readonly shortMarkers?: boolean;
}

/** Creates the annotation of each cut; the marker in the text comes from the same call. */
export function annotate(cuts: readonly Cut[], pruneId: string): Annotation[] {
  return cuts.map((cut) => {
    const reason = cleanReason(cut.reason);
    return { ...cut, reason, marker: formatMarker({ pruneId, ...cut, reason }) };
  });
}

/**
 * The edits that turn the original into the pruned text, in order: a marker for each cut, and with `annotateLines` a
 * number in front of each kept line. A marker ends with LF unless its cut reaches the end of a text without a final LF.
 */
export function editsOf(lines: Lines, annotations: readonly Annotation[], options: RenderOptions): Edit[] {
  const edits: Edit[] = [];
  let line = 1;
  const number = (upTo: number): void => {
    for (; options.annotateLines && line <= upTo; line++) {
      const start = startOf(lines, line);
      edits.push({ start, end: start, text: `${line}${NUMBER_SEPARATOR}` });
    }
  };
  for (const [k, { startLine, endLine, marker, full }] of annotations.entries()) {
    const isShort = k > 0 && options.shortMarkers === true && full !== true;
    const shown = isShort ? formatShortMarker({ startLine, endLine }) : marker;
    number(startLine - 1);
    const end = startOf(lines, endLine + 1);
    const ending = lines.text.charCodeAt(end - 1) === LINE_FEED ? '\n' : '';
    edits.push({ start: startOf(lines, startLine), end, text: options.includeMarkers ? shown + ending : '' });
    line = endLine + 1;
  }
  number(lines.count);
  return edits;
}

/** Applies edits, which must be ordered and must not overlap. */
export function applyEdits(text: string, edits: readonly Edit[]): string {
  let out = '';
  let at = 0;
  for (const edit of edits) {
    out += text.slice(at, edit.start) + edit.text;
    at = edit.end;
  }
  return out + text.slice(at);
}

/** The pruned text: kept lines verbatim and in order, one marker line for each cut. */
export function renderText(lines: Lines, annotations: readonly Annotation[], options: RenderOptions): string {
  return applyEdits(lines.text, editsOf(lines, annotations, options));
}

/**
 * Lines in the form of `recover_text`: the ranges in the order requested, overlaps and repeats included, joined by LF.
 * The last line has no ending, so that the text takes a marker's place exactly.
 */
export function renderRanges(lines: Lines, ranges: readonly LineRange[], withNumbers: boolean): string {
  const out: string[] = [];
  for (const { startLine, endLine } of ranges) {
    for (let line = startLine; line <= Math.min(endLine, lines.count); line++) {
      const content = lineAt(lines, line);
      out.push(withNumbers ? `${line}${NUMBER_SEPARATOR}${content}` : content);
    }
  }
  return out.join('\n');
}
