import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execPath } from 'node:process';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const EXPORT = /export \{([^}]*)\} from '@mcp-pruner\/(\w+)\/([^']+)';/g;

/**
 * Writes the types of the library, `src/index.ts`, as one file. The modules that it exports from must not need the types of
 * others.
 *
 * @param {string} file
 */
export function writeTypes(file) {
  const index = [...readFileSync(join(root, 'src/index.ts'), 'utf8').matchAll(EXPORT)];
  const modules = index.map(([, , name, path]) => join('packages', name, 'src', path));
  const out = mkdtempSync(join(tmpdir(), 'mcp-pruner-types-'));
  try {
    const project = join(out, 'tsconfig.json');
    const compilerOptions = {
      noEmit: false,
      emitDeclarationOnly: true,
      declaration: true,
      rootDir: root,
      outDir: out,
      typeRoots: [join(root, 'node_modules/@types')],
    };
    const files = modules.map((path) => join(root, path));
    writeFileSync(
      project,
      JSON.stringify({ extends: join(root, 'tsconfig.json'), compilerOptions, files, include: [] }),
    );
    const { status, stdout } = spawnSync(execPath, [join(root, 'node_modules/typescript/bin/tsc'), '-p', project], {
      encoding: 'utf8',
    });
    if (status !== 0) throw new Error(`the types cannot be written: ${stdout}`);
    const bodies = modules.map((path) => {
      const text = readFileSync(join(out, path.replace(/\.ts$/, '.d.ts')), 'utf8');
      const foreign = [...text.matchAll(/from '(\.[^']+)'/g)].filter(
        ([, from]) => !modules.some((module) => module.endsWith(from.replace(/^\.\.?/, ''))),
      );
      if (foreign.length > 0) throw new Error(`${path} needs types of ${foreign.map(([, from]) => from).join(', ')}`);
      return text.replaceAll(/^import .*\n|^export \{\};\n/gm, '').replaceAll(/^export /gm, '');
    });
    const names = index.flatMap(([, list]) => list.split(',').map((name) => name.trim())).filter(Boolean);
    writeFileSync(file, `${bodies.join('')}export { ${names.join(', ')} };\n`);
  } finally {
    rmSync(out, { recursive: true });
  }
}
