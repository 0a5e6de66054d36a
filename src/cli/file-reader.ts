import type { Io } from './command.ts';

/** Reads files of the user, where what is not there is `null`. */
export function fileReader({ readFile, fileExists }: Pick<Io, 'readFile' | 'fileExists'>) {
  return (path: string): string | null => (fileExists(path) ? readFile(path) : null);
}
