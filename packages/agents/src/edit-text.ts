import { parse as parseToml } from 'smol-toml';
import type { Edit, JsonValue } from './clients/client.ts';
import { mergeJson, valueAt } from './clients/merge-json.ts';
import { addEntries, readLooseJson, removeEntries } from './edit-json.ts';
import { addTables, ownLines, removeTables, tomlSnippet } from './edit-toml.ts';

/**
 * Applies an edit to the text of a configuration file; everything else stays.
 *
 * @param text - `null` if there is no file yet
 * @throws UserError if the file cannot be parsed, or has a conflicting value
 */
export function applyEdit(text: string | null, edit: Edit): string {
  return edit.format === 'json' ? addEntries(text, edit) : addTables(text, edit);
}

/**
 * Removes an edit from the text of a file, restoring earlier values.
 *
 * @throws UserError if the file cannot be parsed
 */
export function removeEdit(text: string, before: string | null, edit: Edit): string {
  return edit.format === 'json' ? removeEntries(text, before, edit) : removeTables(text, edit);
}

/** The numbers that stand at the places of an edit now, in its order; `null` where there is none. */
export function valuesOf(text: string, edit: Edit): (number | null)[] {
  const isToml = edit.format === 'toml';
  const now = (isToml ? parseToml(text) : readLooseJson(text)) as JsonValue | null;
  const paths = isToml ? Object.keys(edit.top).map((key) => [key]) : edit.entries.map(({ path }) => path);
  return paths.map((path) => {
    const value = valueAt(now, path);
    return typeof value === 'number' ? value : null;
  });
}

/** An edit as it is for another number. Its entries behind the first one are only for places that have a value. */
export function withValue(edit: Edit, value: number, before: string | null): Edit {
  if (edit.format === 'toml')
    return { ...edit, top: Object.fromEntries(Object.keys(edit.top).map((key) => [key, value])) };
  const own = readLooseJson(before);
  const entries = edit.entries.filter(({ path }, i) => i === 0 || valueAt(own, path) !== undefined);
  return { ...edit, entries: entries.map(({ path }) => ({ path, value })) };
}

/** An edit with some of its places. */
export function withOnly(edit: Edit, isKept: (index: number) => boolean): Edit {
  const kept = <T>(all: readonly T[]): T[] => all.filter((_, i) => isKept(i));
  if (edit.format === 'toml') return { ...edit, top: Object.fromEntries(kept(Object.entries(edit.top))) };
  return { ...edit, entries: kept(edit.entries) };
}

/** The parts of a file written by an edit, as text; empty if there are none. */
export function ownPart(text: string | null, edit: Edit): string {
  if (text === null) return '';
  if (edit.format === 'toml') return ownLines(text, edit);
  const value = readLooseJson(text);
  if (value === null) return ''; // nothing written by this product
  const found = edit.entries.map(({ path }) => valueAt(value, path)).filter((one) => one !== undefined);
  return found.map((one) => JSON.stringify(one)).join('\n');
}

/** The lines that the edit would add, for people to copy. */
export function snippet(edit: Edit): string {
  return edit.format === 'json' ? JSON.stringify(mergeJson({}, edit.entries), null, 2) : tomlSnippet(edit);
}
