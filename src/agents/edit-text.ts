import { parse as parseToml } from 'smol-toml';
import type { Edit, JsonValue, TomlTable, TomlTables } from './clients/client.ts';
import { mergeJson, restoreJson, valueAt } from './clients/merge-json.ts';
import { tomlString } from './providers.ts';

/** An edit that cannot be made without harm; the message says why, and what to do. */
export class EditRefused extends Error {
  override readonly name = 'EditRefused';
}

const BEGIN = '# >>> mcp-pruner >>>';
const END = '# <<< mcp-pruner <<<';

/**
 * The text of a configuration file with the edit made; everything else in it stays.
 *
 * @param text - `null` when there is no file yet
 * @throws EditRefused when the file cannot be read, or says something else in the same place
 */
export function applyEdit(text: string | null, edit: Edit): string {
  if (edit.format === 'json') return writeJson(mergeJson(readJson(text, edit.file), edit.entries), text);
  const current = withoutBlocks(text ?? '');
  refuseConflicts(current, edit);
  const top = block(Object.entries(edit.top).map(tomlLine));
  const tables = block(tomlTables(edit.tables));
  const gap = current === '' || tables === '' ? '' : current.endsWith('\n') ? '\n' : '\n\n';
  return checkedToml(`${top}${current}${gap}${tables}`, edit.file);
}

/** The text of a file with the edit taken out again, and what stood in its places before put back. */
export function removeEdit(text: string, before: string | null, edit: Edit): string {
  if (edit.format === 'toml') return checkedToml(withoutBlocks(text), edit.file);
  return writeJson(restoreJson(readJson(text, edit.file), readJson(before, edit.file), edit.entries), text);
}

/** What a file says in the places of an edit, as text; empty when it says nothing there. */
export function ownPart(text: string | null, edit: Edit): string {
  if (text === null) return '';
  if (edit.format === 'toml') return insideBlocks(text);
  try {
    const value = readJson(text, edit.file);
    const found = edit.entries.map(({ path }) => valueAt(value, path)).filter((one) => one !== undefined);
    return found.map((one) => JSON.stringify(one)).join('\n');
  } catch {
    return ''; // nothing that this product wrote
  }
}

/** What stands in the file for the edit alone, for people to copy. */
export function snippet(edit: Edit): string {
  if (edit.format === 'json') return JSON.stringify(mergeJson({}, edit.entries), null, 2);
  return [...Object.entries(edit.top).map(tomlLine), ...tomlTables(edit.tables)].join('\n');
}

function readJson(text: string | null, file: string): JsonValue {
  if (text === null || text.trim() === '') return {};
  let value: JsonValue;
  try {
    value = JSON.parse(text.replace(/^\ufeff/, '')) as JsonValue;
  } catch {
    throw new EditRefused(`${file} is not plain JSON (comments?): add the lines by hand`);
  }
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  throw new EditRefused(`${file} holds no JSON object: add the lines by hand`);
}

/** In the indentation of the file as it was. */
function writeJson(value: JsonValue, like: string | null): string {
  const [, indent = '  '] = /^\s*\{\r?\n([ \t]+)"/.exec(like ?? '') ?? [];
  return `${JSON.stringify(value, null, indent)}${like === null || like.endsWith('\n') ? '\n' : ''}`;
}

function tomlTables(tables: TomlTables): string[] {
  return Object.entries(tables).flatMap(([name, table]) => [`[${name}]`, ...Object.entries(table).map(tomlLine)]);
}

function tomlLine([key, value]: [string, TomlTable[string]]): string {
  if (typeof value === 'boolean') return `${key} = ${value}`;
  if (typeof value === 'string') return `${key} = ${tomlString(value)}`;
  return `${key} = [${value.map(tomlString).join(', ')}]`;
}

function block(lines: readonly string[]): string {
  return lines.length === 0 ? '' : `${[BEGIN, ...lines, END].join('\n')}\n`;
}

/** Takes our blocks out, with the empty line in front of a block that is not the first line. */
function withoutBlocks(text: string): string {
  return splitBlocks(text).outside.join('\n');
}

function insideBlocks(text: string): string {
  return splitBlocks(text).inside.join('\n');
}

function splitBlocks(text: string): { readonly outside: string[]; readonly inside: string[] } {
  const outside: string[] = [];
  const inside: string[] = [];
  let ours = false;
  for (const line of text.split('\n')) {
    if (line.trimEnd() === BEGIN) {
      ours = true;
      if (outside.at(-1) === '') outside.pop();
    } else if (!ours) outside.push(line);
    else if (line.trimEnd() === END) ours = false;
    else inside.push(line);
  }
  return { outside, inside };
}

function refuseConflicts(current: string, { file, top, tables }: Extract<Edit, { format: 'toml' }>): void {
  const value = readToml(current, file);
  const taken = [...Object.keys(top), ...Object.keys(tables)].find(
    (name) => valueAt(value, name.split('.')) !== undefined,
  );
  if (taken === undefined) return;
  throw new EditRefused(`${file} has ${taken} already: take that out first, or change it by hand`);
}

function checkedToml(text: string, file: string): string {
  readToml(text, file);
  return text;
}

function readToml(text: string, file: string): JsonValue {
  try {
    return parseToml(text) as JsonValue;
  } catch {
    throw new EditRefused(`${file} is not valid TOML: correct it first`);
  }
}
