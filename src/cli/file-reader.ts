import type { Io } from './command.ts';

/** Reads the user's files; `null` for a missing one. */
export function fileReader({ readFile, fileExists }: Pick<Io, 'readFile' | 'fileExists'>) {
  return (path: string): string | null => (fileExists(path) ? readFile(path) : null);
}
