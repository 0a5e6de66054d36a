import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** The built program. */
export const MCP_PRUNER = fileURLToPath(new URL('../../../dist/cli.js', import.meta.url));

/**
 * The files below a folder in whose path one of the words stands, to see what came.
 *
 * @param {string} folder
 * @param {readonly string[]} words
 */
export function treeOf(folder, words) {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((path) =>
    words.some((word) => path.includes(word)),
  );
}
