import type { Io } from './command.ts';

/** Reads the user's files; `null` if missing. */
export function fileReader({ readFile, fileExists }: Pick<Io, 'readFile' | 'fileExists'>) {
  return (path: string): string | null => (fileExists(path) ? readFile(path) : null);
}
