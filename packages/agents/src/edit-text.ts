import type { Edit } from './clients/client.ts';
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
