import type { Edit } from './clients/client.ts';
import { mergeJson, valueAt } from './clients/merge-json.ts';
import { addEntries, readLooseJson, removeEntries } from './edit-json.ts';
import { addTables, ownLines, removeTables, tomlSnippet } from './edit-toml.ts';

/**
 * The text of a configuration file with the edit made; everything else in it stays.
 *
 * @param text - `null` when there is no file yet
 * @throws UserError when the file cannot be read, or says something else in the same place
 */
export function applyEdit(text: string | null, edit: Edit): string {
  return edit.format === 'json' ? addEntries(text, edit) : addTables(text, edit);
}

/**
 * The text of a file without the edit, with the earlier contents of its places restored.
 *
 * @throws UserError when the file cannot be read
 */
export function removeEdit(text: string, before: string | null, edit: Edit): string {
  return edit.format === 'json' ? removeEntries(text, before, edit) : removeTables(text, edit);
}

/** The content of a file in the places of an edit, as text; empty if there is none. */
export function ownPart(text: string | null, edit: Edit): string {
  if (text === null) return '';
  if (edit.format === 'toml') return ownLines(text, edit);
  const value = readLooseJson(text);
  if (value === null) return ''; // nothing that this product wrote
  const found = edit.entries.map(({ path }) => valueAt(value, path)).filter((one) => one !== undefined);
  return found.map((one) => JSON.stringify(one)).join('\n');
}

/** The lines that the edit adds to the file, for people to copy. */
export function snippet(edit: Edit): string {
  return edit.format === 'json' ? JSON.stringify(mergeJson({}, edit.entries), null, 2) : tomlSnippet(edit);
}
