import { type Dirent, readdirSync, realpathSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Session } from '../readers/recorded.ts';

export interface SessionFile {
  readonly agent: string;
  readonly path: string;
  readonly atMs: number;
  /** @param onRead - called with the share of the file read so far, 0..1 */
  read(onRead: (share: number) => void): Promise<Session>;
}

export type FoundSession = Pick<SessionFile, 'path' | 'read'> & {
  /** Time of the last write, if the path does not determine it. */
  readonly atMs?: number;
};

const MAX_FILES = 20_000;

/** Files below a folder with the given ending; empty without the folder. Follows links, but visits a folder once. */
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

/** Entries of a folder not visited before; empty if it cannot be read. */
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
    return { files: [], folders: [] }; // the agent is not used on this machine
  }
}

function leadsToFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false; // a circular or dangling link
  }
}
