import { parsed } from '../../src/wires/json/value.ts';
import { bareLine } from './shown.ts';

const OLD_TEXT = new Set(['old_string', 'oldString', 'old_str', 'oldText']);
const PATCH_BEGIN = '*** Begin Patch';
/** A block of fewer characters stands anywhere by chance. */
const LEAST_CHARS = 8;

/**
 * The texts that each edit of a call replaces, line by line without indentation: one list of blocks for each edit, since a
 * patch applies only as a whole. `[]` for a call that edits nothing by its text.
 */
export function editsIn(args: string): string[][] {
  const strings = new Map<string, string[]>();
  const value = parsed(args);
  if (value === undefined) collect('', args, strings, 0);
  else collect('', value, strings, 0);
  const replaced = [...OLD_TEXT].flatMap((key) => strings.get(key) ?? []).map((text) => [blockOf(text.split('\n'))]);
  const patches = [...strings.values()].flat().filter((text) => text.includes(PATCH_BEGIN));
  return [...replaced, ...patches.map(hunksOf)]
    .map((blocks) => blocks.filter((block) => block.length >= LEAST_CHARS))
    .filter((blocks) => blocks.length > 0);
}

function collect(key: string, value: unknown, into: Map<string, string[]>, depth: number): void {
  if (typeof value === 'string') into.set(key, [...(into.get(key) ?? []), value]);
  else if (Array.isArray(value) && depth < 8) for (const item of value) collect(key, item, into, depth + 1);
  else if (value !== null && typeof value === 'object' && depth < 8) {
    for (const [name, item] of Object.entries(value)) collect(name, item, into, depth + 1);
  }
}

/** The lines that each hunk of a patch expects to find: its context and what it removes. */
function hunksOf(patch: string): string[] {
  const hunks: string[][] = [[]];
  for (const line of patch.slice(patch.indexOf(PATCH_BEGIN)).split('\n')) {
    if (line.startsWith('@@') || line.startsWith('*** ')) hunks.push([]);
    else if (line.startsWith(' ') || line.startsWith('-')) hunks.at(-1)?.push(line.slice(1));
  }
  return hunks.map(blockOf);
}

function blockOf(lines: readonly string[]): string {
  return lines.map(bareLine).join('\n').trim();
}
