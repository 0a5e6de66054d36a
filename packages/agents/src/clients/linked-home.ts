import { join } from 'node:path';
import type { ClientPlace, Launch } from './client.ts';

/**
 * A settings folder for one run: some files belong to the run, everything else links to the user's folder, so that
 * logins, sessions and histories are shared.
 *
 * @param home - path of the folder, relative to the run's folder
 * @param own - the user's folder
 */
export function linkedHome(
  home: string,
  own: string,
  files: readonly { readonly name: string; readonly text: string }[],
  place: ClientPlace,
): Required<Pick<Launch, 'files' | 'links'>> {
  const others = (place.listFolder?.(own) ?? []).filter((name) => files.every((file) => file.name !== name));
  return {
    files: files.map(({ name, text }) => ({ name: join(home, name), text })),
    links: others.map((name) => ({ name: join(home, name), target: join(own, name) })),
  };
}
