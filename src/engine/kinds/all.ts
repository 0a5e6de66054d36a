import { code } from './code/code.ts';
import { diff } from './diff.ts';
import { docs } from './docs.ts';
import { git } from './git.ts';
import { greppedLog } from './grepped-log.ts';
import { json } from './json.ts';
import type { Kind } from './kind.ts';
import { listing } from './listing.ts';
import { log } from './log/log.ts';
import { search } from './search.ts';
import { table } from './table.ts';

/** All kinds of text. A new kind is a file and a row here. */
export const KINDS: readonly Kind[] = [code, docs, log, search, greppedLog, diff, git, listing, json, table];

const byName = new Map(KINDS.flatMap((kind) => Object.keys(kind.names).map((name) => [name, kind] as const)));
const byExtension = new Map(
  KINDS.flatMap(({ names }) =>
    Object.entries(names).flatMap(([name, extensions]) =>
      extensions.split(' ').map((extension) => [extension, name] as const),
    ),
  ),
);
byExtension.delete('');

/** The kind with this finer name; code for unknown names. */
export function kindNamed(name: string): Kind {
  return byName.get(name) ?? code;
}

const SCRIPT_FILES = ['dockerfile', 'makefile', 'cmakelists.txt'];

/** The kind's name for a file, by its extension; `undefined` for unknown extensions. */
export function nameByPath(path: string | undefined): string | undefined {
  if (path === undefined) return undefined;
  const file = path.slice(path.lastIndexOf('/') + 1).toLowerCase();
  if (SCRIPT_FILES.includes(file)) return 'shell';
  const dot = file.lastIndexOf('.');
  return dot < 0 ? undefined : byExtension.get(file.slice(dot + 1));
}
