import type { LineRange } from '../../engine/types.ts';

/** A prune id as a user or model referred to it, with the line range if one was given. */
export interface PruneReference {
  readonly pruneId: string;
  /** The lines that a marker names; `null` if no marker was given. */
  readonly range: LineRange | null;
}

/** No marker is longer than this. */
const MAX_CHARS = 1_000;
/** A prune id in any letter case, anywhere in the pasted text. */
const ID = /(?<![0-9A-Za-z])prn_([0-9A-HJKMNP-TV-Z]{12})(?![0-9A-Za-z])/i;
/** `lignes` is part of the marker format in every language. */
const LINES = /\blignes (\d{1,9})-(\d{1,9})\b/;

/**
 * Parses a prune id as pasted by a user or model: any letter case, surrounded by spaces or quotes, or inside a complete
 * or partial marker. Text without an id is returned unchanged and later reported as unknown.
 */
export function readPruneReference(given: string): PruneReference {
  const text = given.slice(0, MAX_CHARS);
  const [, id] = ID.exec(text) ?? [];
  if (id === undefined) return { pruneId: given, range: null };
  const [, first, last] = LINES.exec(text) ?? [];
  const range = { startLine: Number(first), endLine: Number(last) };
  return { pruneId: `prn_${id.toUpperCase()}`, range: range.startLine <= range.endLine ? range : null };
}
