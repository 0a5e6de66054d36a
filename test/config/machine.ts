import type { LoadInput } from '../../src/config/load.ts';
import { edition } from '../../src/edition.ts';

/** A machine that exists only in the test: no variables, no files but those given. */
export function machine(
  given: Partial<Omit<LoadInput, 'readFile'>> & { readonly files?: Readonly<Record<string, string>> } = {},
): LoadInput {
  const { files = {}, ...rest } = given;
  return {
    table: edition.settings,
    env: {},
    platform: 'linux',
    homeDir: '/home/me',
    cwd: '/work/here',
    readFile: (path) => {
      const text = files[path];
      if (text === undefined) throw Object.assign(new Error(`no such file: ${path}`), { code: 'ENOENT' });
      return text;
    },
    ...rest,
  };
}
