import { readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { sourceFolders } from '../../build/aliases.mjs';

/** The folder of the project. */
export const projectRoot = fileURLToPath(new URL('../..', import.meta.url));

/** What is made or fetched, not written. */
const MADE = /^(?:node_modules|dist|coverage|\.git|\.cache)$/;

/** Every file of the project as its path below the root, without asking git: a copy without one is tested too. */
export function projectFiles(folder = ''): string[] {
  return readdirSync(join(projectRoot, folder), { withFileTypes: true }).flatMap((entry) => {
    if (MADE.test(entry.name)) return [];
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
    return entry.isDirectory() ? projectFiles(path) : [path];
  });
}

/** A file of the product or of a package. */
export interface SourceFile {
  /** Path from the project, such as `src/core/hash.ts` or `packages/page/src/page.ts`. */
  readonly file: string;
  readonly text: string;
}

/** All sources of the program, packages included. */
export function sourceFiles(pattern = /\.tsx?$/): SourceFile[] {
  return sourceFolders.flatMap((folder) =>
    readdirSync(join(projectRoot, folder), { recursive: true, encoding: 'utf8' })
      .map((name) => `${folder}/${name.replaceAll('\\', '/')}`)
      .filter((file) => pattern.test(file))
      .map((file) => ({ file, text: readFileSync(join(projectRoot, file), 'utf8') })),
  );
}

/** Path of an imported file from the project; `null` for a library. */
export function importedFile(from: string, specifier: string): string | null {
  if (specifier.startsWith('.')) return posix.join(posix.dirname(from), specifier);
  const own = /^(?:@mcp-pruner\/([\w-]+)|mcp-pruner)\/(.*)$/.exec(specifier);
  return own && (own[1] ? `packages/${own[1]}/src/${own[2]}` : `src/${own[2]}`);
}
