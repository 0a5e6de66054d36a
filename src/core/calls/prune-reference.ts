import type { LineRange } from '../../engine/types.ts';

/** What was meant by something that people and models give as a prune id. */
export interface PruneReference {
  readonly pruneId: string;
  /** The lines that a marker names, where it was given as a marker. */
  readonly range: LineRange | null;
}

/** Longer than any marker. */
const MOST_CHARS = 1_000;
/** A prune id in any letter case, anywhere in the pasted text. */
const ID = /(?<![0-9A-Za-z])prn_([0-9A-HJKMNP-TV-Z]{12})(?![0-9A-Za-z])/i;
const LINES = /\blignes (\d{1,9})-(\d{1,9})\b/;

/**
 * Reads a prune id as it is copied: in any case, with blanks or quotes around it, or as a marker, whole or in part. A
 * text without an id is used as it is, and is then reported as unknown.
 */
export function readPruneReference(given: string): PruneReference {
  const text = given.slice(0, MOST_CHARS);
  const [, id] = ID.exec(text) ?? [];
  if (id === undefined) return { pruneId: given, range: null };
  const [, first, last] = LINES.exec(text) ?? [];
  const range = { startLine: Number(first), endLine: Number(last) };
  return { pruneId: `prn_${id.toUpperCase()}`, range: range.startLine <= range.endLine ? range : null };
}
