import { cpSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type Plugin, rolldown } from 'rolldown';
import { aliases } from '../../build/aliases.mjs';

/** Files that are there for a team alone, below `src/`. What asks for them does so only with a database or with keys. */
const OF_TEAM =
  /^(store\/postgres(\.ts$|\/)|store\/move\/|keys\/(?!seat\/(?:extension|settings|errors)\.ts$)|cli\/store\.ts$)/;

/** In the place of each file of the team one with the same names and nothing behind them. */
function withoutTeam(root: string): Plugin {
  const sources = join(root, 'src/');
  return {
    name: 'without-team',
    load(id) {
      if (!id.startsWith(sources) || !OF_TEAM.test(id.slice(sources.length))) return null;
      const names = [...readFileSync(id, 'utf8').matchAll(/^export (?:async )?(?:const|class|function) (\w+)/gm)];
      return names.map(([, name]) => `export const ${name} = undefined;`).join('\n');
    },
  };
}

/** Makes `dist/` anew in a folder beside the rest of the built program, with or without what a team needs. */
export async function build(root: string, folder: string, hasTeam: boolean): Promise<string> {
  const out = join(folder, 'dist');
  cpSync(join(root, 'dist'), out, { recursive: true, filter: (path) => !path.includes('/parts') });
  const bundle = await rolldown({
    cwd: root,
    input: {
      cli: join(root, 'src/cli.ts'),
      index: join(root, 'src/index.ts'),
      'parts/decide-worker': join(root, 'src/core/decide/workers/decide-worker.ts'),
    },
    platform: 'node',
    resolve: { alias: { ...aliases, 'jsonc-parser': join(root, 'node_modules/jsonc-parser/lib/esm/main.js') } },
    logLevel: 'silent',
    external: ['better-sqlite3', 'better-sqlite3-13'],
    plugins: hasTeam ? [] : [withoutTeam(root)],
  });
  await bundle.write({
    dir: out,
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: 'parts/[name].js',
  });
  await bundle.close();
  return out;
}

/** Bytes of the files below a folder that match, maps left out: they are not packed. */
export function bytesOf(folder: string, match: (path: string) => boolean = () => true): number {
  let sum = 0;
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isFile() && !path.endsWith('.map') && match(path)) sum += statSync(path).size;
  }
  return sum;
}

/** Of the declarations in `dist/`, those of the team's files. */
export function isTeamsDeclaration(dist: string, path: string): boolean {
  return path.endsWith('.d.ts') && OF_TEAM.test(path.slice(dist.length + 1).replace('.d.ts', '.ts'));
}
