import { type Dirent, readdirSync, realpathSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Session } from '../readers/recorded.ts';

/** A file in which an agent keeps a session. */
export interface SessionFile {
  readonly agent: string;
  readonly path: string;
  /** When it was written last. */
  readonly atMs: number;
  /** @param onRead - called with how much of the file was read, from 0 to 1 */
  read(onRead: (share: number) => void): Promise<Session>;
}

/** A session where an agent keeps it. */
export type FoundSession = Pick<SessionFile, 'path' | 'read'> & {
  /** When it was written last, where its path does not say. */
  readonly atMs?: number;
};

const MAX_FILES = 20_000;

/**
 * Files below a folder whose names end so; empty if the folder does not exist. Follows links, but to no folder twice.
 */
export function filesBelow(folder: string, ending: string): string[] {
  const files: string[] = [];
  const seen = new Set<string>();
  const walk = (at: string): void => {
    const entries = entriesOf(at, seen);
    for (const { name } of entries.files) if (name.endsWith(ending)) files.push(join(at, name));
    for (const { name } of entries.folders) if (files.length < MAX_FILES) walk(join(at, name));
  };
  walk(folder);
  return files.slice(0, MAX_FILES);
}

/** What is in a folder that was not seen before; nothing if it cannot be read. */
function entriesOf(folder: string, seen: Set<string>): { readonly files: Dirent[]; readonly folders: Dirent[] } {
  try {
    const real = realpathSync(folder);
    if (seen.has(real)) return { files: [], folders: [] };
    seen.add(real);
    const isFolder = (entry: Dirent): boolean =>
      entry.isDirectory() || (entry.isSymbolicLink() && leadsToFolder(join(folder, entry.name)));
    const all = readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
    const folders = all.filter(isFolder);
    return { folders, files: all.filter((entry) => !folders.includes(entry)) };
  } catch {
    return { files: [], folders: [] }; // this agent is not used here
  }
}

function leadsToFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false; // it leads to itself, or to nothing
  }
}
