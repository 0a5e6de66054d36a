import { type Leaf, stringsOf } from './json-reader.ts';

/** What the store says was cut of a text. */
export interface Pruned {
  readonly pruneId: string;
  readonly text: string;
  readonly cuts: readonly { readonly startLine: number; readonly endLine: number; readonly reason: string }[];
}

export interface Rendering {
  readonly annotateLines: boolean;
  readonly includeMarkers: boolean;
}

interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** A text as lines that keep their ends: a line ends at LF and nowhere else. */
export function linesOf(text: string): string[] {
  return text === '' ? [] : text.split(/(?<=\n)/);
}

/** The marker of docs/contract.md §5, written out. */
export function markerOf(pruneId: string, { startLine, endLine, reason }: Pruned['cuts'][number]): string {
  return `⟦PRUNÉ: prune_id=${pruneId} lignes ${startLine}-${endLine} (${endLine - startLine + 1}) raison=${reason}⟧`;
}

/** What is to become of a text: cut lines give way to a marker, each line kept as it is (behind its number, if asked). */
export function editsOf({ pruneId, text, cuts }: Pruned, { annotateLines, includeMarkers }: Rendering): Edit[] {
  const edits: Edit[] = [];
  const lines = linesOf(text);
  let start = 0;
  for (let line = 1; line <= lines.length; ) {
    const cut = cuts.find(({ startLine }) => startLine === line);
    const last = cut ? cut.endLine : line;
    const raw = lines.slice(line - 1, last).join('');
    if (cut) {
      const marker = markerOf(pruneId, cut) + (raw.endsWith('\n') ? '\n' : '');
      edits.push({ start, end: start + raw.length, text: includeMarkers ? marker : '' });
    } else if (annotateLines) edits.push({ start, end: start, text: `${line}│ ` });
    start += raw.length;
    line = last + 1;
  }
  return edits;
}

export function applyEdits(text: string, edits: readonly Edit[]): string {
  return edits
    .toReversed()
    .reduce((out, { start, end, text: put }) => out.slice(0, start) + put + out.slice(end), text);
}

/** Takes from `pending` what stands in this text, or inside the JSON that it is, and says how the text must change. */
function takeEdits(text: string, pending: Pruned[], rendering: Rendering): Edit[] {
  const edits: Edit[] = [];
  let from = 0;
  for (let next = pending[0]; next; next = pending[0]) {
    const at = text.indexOf(next.text, from);
    if (at < 0) break;
    pending.shift();
    edits.push(...editsOf(next, rendering).map((edit) => ({ ...edit, start: edit.start + at, end: edit.end + at })));
    from = at + next.text.length;
  }
  if (edits.length > 0 || pending.length === 0) return edits;
  for (const { start, end } of innerStrings(text)) {
    if (pending.length === 0) break;
    const raw = text.slice(start + 1, end - 1);
    edits.push(...lifted(raw, takeEdits(decoded(raw), pending, rendering), start + 1));
  }
  return edits;
}

function innerStrings(text: string): Leaf[] {
  try {
    return stringsOf(text);
  } catch {
    return [];
  }
}

function decoded(raw: string): string {
  const value: unknown = JSON.parse(`"${raw}"`);
  return String(value);
}

/** Edits of a decoded string as edits of how it is written. */
function lifted(raw: string, edits: readonly Edit[], base: number): Edit[] {
  if (edits.length === 0) return [];
  const places: number[] = [];
  let at = 0;
  while (at < raw.length) {
    places.push(at);
    at += raw.charAt(at) !== '\\' ? 1 : raw.charAt(at + 1) === 'u' ? 6 : 2;
  }
  places.push(raw.length);
  return edits.map(({ start, end, text }) => ({
    start: base + (places[start] ?? Number.NaN),
    end: base + (places[end] ?? Number.NaN),
    text: JSON.stringify(text).slice(1, -1),
  }));
}

/** How a JSON string (without its quotes) must look once what is `pending` is cut from it; takes what it uses. */
export function expectedRaw(raw: string, pending: Pruned[], rendering: Rendering): string {
  if (pending.length === 0) return raw;
  return applyEdits(raw, lifted(raw, takeEdits(decoded(raw), pending, rendering), 0));
}
