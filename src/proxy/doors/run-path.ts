/** `/run/<id>` before a path. The id is random and known only to the program that started the run. */
const PREFIX = /\/run\/([0-9a-f]{32})(?=[/?]|$)/;

/** Path prefix of a run; its figures are served there too. */
export function runPath(id: string): string {
  return `/run/${id}`;
}

/**
 * Splits a URL or request path into the run id and the remaining URL.
 *
 * @returns `id` is `''` if the URL belongs to no run
 */
export function withoutRun(url: string): { readonly id: string; readonly url: string } {
  const [prefix = '', id = ''] = PREFIX.exec(url) ?? [];
  return { id, url: url.replace(prefix, '') };
}
