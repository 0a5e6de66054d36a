/** `/run/<id>` before a path. The id is random, and only the program that started the run has it. */
const PREFIX = /\/run\/([0-9a-f]{32})(?=[/?]|$)/;

/** The prefix of the paths of a run, from which its figures are read too. */
export function runPath(id: string): string {
  return `/run/${id}`;
}

/**
 * Divides a URL, or the path of a request, into the id of its run and the same URL without it.
 *
 * @returns `id`: `''` if it belongs to no run
 */
export function withoutRun(url: string): { readonly id: string; readonly url: string } {
  const [prefix = '', id = ''] = PREFIX.exec(url) ?? [];
  return { id, url: url.replace(prefix, '') };
}
