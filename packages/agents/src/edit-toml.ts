import { UserError } from 'mcp-pruner/errors/errors.ts';
import { parse as parseToml } from 'smol-toml';
import type { Edit, JsonValue, TomlTable, TomlTables } from './clients/client.ts';
import { valueAt } from './clients/merge-json.ts';
import { tomlString } from './providers.ts';

type TomlEdit = Extract<Edit, { readonly format: 'toml' }>;

/** Comments around our lines, and the one before a line of the user that ours replace. */
function marksOf({ feature }: TomlEdit): {
  readonly begin: string;
  readonly end: string;
  readonly replaced: string;
} {
  const name = feature === undefined ? 'mcp-pruner' : `mcp-pruner ${feature}`;
  return { begin: `# >>> ${name} >>>`, end: `# <<< ${name} <<<`, replaced: `# replaced by ${name}: ` };
}

/**
 * Adds an edit's keys and tables between two comments of ours; everything else stays.
 *
 * @throws UserError if the text has conflicting values, or cannot be parsed
 */
export function addTables(text: string | null, edit: TomlEdit): string {
  const bom = text?.startsWith('\ufeff') ? '\ufeff' : '';
  const outside = splitBlocks((text ?? '').slice(bom.length), edit).outside;
  const current = edit.replaces === true ? withReplaced(outside, edit) : outside;
  const value = readToml(current, edit.file);
  refuseConflicts(value, edit);
  const top = block(Object.entries(edit.top).map(tomlLine), edit);
  const tables = block(tomlTables(edit.tables), edit);
  const gap = current === '' || tables === '' ? '' : current.endsWith('\n') ? '\n' : '\n\n';
  const next = `${top}${current}${gap}${tables}`;
  refuseInline(value, next, edit);
  return `${bom}${next}`;
}

export function removeTables(text: string, edit: TomlEdit): string {
  const outside = withRestored(splitBlocks(text, edit).outside, edit);
  readToml(outside.replace(/^\ufeff/, ''), edit.file);
  return outside;
}

export function ownLines(text: string, edit: TomlEdit): string {
  return splitBlocks(text, edit).inside;
}

export function tomlSnippet({ top, tables }: TomlEdit): string {
  return [...Object.entries(top).map(tomlLine), ...tomlTables(tables)].join('\n');
}

function tomlTables(tables: TomlTables): string[] {
  return Object.entries(tables).flatMap(([name, table]) => [`[${name}]`, ...Object.entries(table).map(tomlLine)]);
}

function tomlLine([key, value]: [string, TomlTable[string]]): string {
  if (typeof value === 'boolean' || typeof value === 'number') return `${key} = ${value}`;
  if (typeof value === 'string') return `${key} = ${tomlString(value)}`;
  if (isList(value)) return `${key} = [${value.map(tomlString).join(', ')}]`;
  const pairs = Object.entries(value).map(([name, text]) => `${name} = ${tomlString(text)}`);
  return `${key} = { ${pairs.join(', ')} }`;
}

function isList(value: TomlTable[string]): value is readonly string[] {
  return Array.isArray(value);
}

function block(lines: readonly string[], edit: TomlEdit): string {
  const { begin, end } = marksOf(edit);
  return lines.length === 0 ? '' : `${[begin, ...lines, end].join('\n')}\n`;
}

/** Turns the user's lines with our keys into comments. Only keys before the first table are at the top. */
function withReplaced(text: string, edit: TomlEdit): string {
  const { replaced } = marksOf(edit);
  const lines = text.split('\n');
  const firstTable = lines.findIndex((line) => line.trimStart().startsWith('['));
  const end = firstTable < 0 ? lines.length : firstTable;
  return lines.map((line, i) => (i < end && hasKeyOf(line, edit) ? `${replaced}${line}` : line)).join('\n');
}

function hasKeyOf(line: string, { top }: TomlEdit): boolean {
  const key = /^\s*([\w-]{1,128})\s*=/.exec(line)?.[1];
  return key !== undefined && Object.hasOwn(top, key);
}

/** Turns comments with replaced lines into lines again, or drops those whose key has a newer value of the user. */
function withRestored(text: string, edit: TomlEdit): string {
  const { replaced } = marksOf(edit);
  const restored = (line: string): string | [] => {
    if (!line.startsWith(replaced)) return line;
    const own = line.slice(replaced.length);
    return hasKeyOf(own, edit) ? own : [];
  };
  return text.split('\n').flatMap(restored).join('\n');
}

/**
 * Separates our lines from all others. Between our two comments (or to the end if the second one is gone), only the
 * edit's keys and tables are ours, because agents that rewrite the file insert lines before a comment.
 */
function splitBlocks(text: string, edit: TomlEdit): { readonly outside: string; readonly inside: string } {
  const { top, tables } = edit;
  const { begin, end } = marksOf(edit);
  const outside: string[] = [];
  const inside: string[] = [];
  let within = false;
  let table: 'ours' | 'foreign' | null = null;
  for (const line of text.split('\n')) {
    const trimmed = line.trim();
    if (trimmed === begin) {
      within = true;
      table = null;
      if (outside.at(-1) === '') outside.pop();
      continue;
    }
    if (trimmed === end && within) {
      within = false;
      continue;
    }
    const [, header] = /^\[{1,2}([^\]]{1,512})\]{1,2}\s*(?:#.*)?$/.exec(trimmed) ?? [];
    if (header !== undefined) table = isOurs(header.trim(), tables) ? 'ours' : 'foreign';
    const key = /^([\w-]{1,128})\s*=/.exec(trimmed)?.[1];
    const ours =
      within && (table === null ? key !== undefined && Object.hasOwn(top, key) : table === 'ours') && isCode(trimmed);
    (ours ? inside : outside).push(line);
  }
  return { outside: outside.join('\n'), inside: inside.join('\n') };
}

function isOurs(header: string, tables: TomlTables): boolean {
  const name = header.replaceAll(/["'\s]/g, '');
  return Object.keys(tables).some((own) => name === own || name.startsWith(`${own}.`));
}

/** Our lines are keys and headers; empty lines and comments belong to others. */
function isCode(line: string): boolean {
  return line !== '' && !line.startsWith('#');
}

function refuseConflicts(value: JsonValue, { file, top, tables }: TomlEdit): void {
  const taken = [...Object.keys(top), ...Object.keys(tables)].find(
    (name) => valueAt(value, name.split('.')) !== undefined,
  );
  if (taken === undefined) return;
  throw new UserError(`${file} already has ${taken}: remove that first, or edit the file by hand`);
}

/** Refuses inline tables, because nothing can be added to them. */
function refuseInline(value: JsonValue, next: string, { file, tables }: TomlEdit): void {
  try {
    parse(next);
  } catch {
    const names = [...new Set(Object.keys(tables).map((name) => name.split('.')[0] ?? name))];
    const closed = names.filter((name) => valueAt(value, [name]) !== undefined).join(' and ') || 'a table';
    throw new UserError(
      `${file} has ${closed} as an inline table, which cannot be extended: write separate tables instead ([${names[0]}.name]), or edit the file by hand`,
    );
  }
}

function readToml(text: string, file: string): JsonValue {
  try {
    return parse(text);
  } catch {
    throw new UserError(`${file} is not valid TOML: correct it first`);
  }
}

function parse(text: string): JsonValue {
  // whole numbers beyond 2^53 are valid TOML, too
  return parseToml(text, { integersAsBigInt: 'asNeeded' }) as JsonValue;
}
