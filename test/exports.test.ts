import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const root = fileURLToPath(new URL('..', import.meta.url));

/** The names in each file of the project, by its path. */
function namesByFile(): Map<string, { readonly text: string; readonly names: ReadonlySet<string> }> {
  const files = ['src', 'packages', 'test', 'bench', 'demo'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => /\.(?:tsx?|m?js)$/.test(file) && !file.includes('node_modules'))
      .map((file) => `${folder}/${file.replaceAll('\\', '/')}`),
  );
  return new Map(
    files.map((file) => {
      const text = readFileSync(join(root, file), 'utf8');
      return [file, { text, names: new Set(text.match(/[A-Za-z_$][\w$]*/g)) }];
    }),
  );
}

it('every exported function, class and constant of the product is used by another file', () => {
  const all = namesByFile();
  const files = new Map<string, number>();
  for (const { names } of all.values()) for (const name of names) files.set(name, (files.get(name) ?? 0) + 1);
  const dead = [...all].flatMap(([file, { text }]) => {
    if (!/^(?:src|packages\/\w+\/src)\//.test(file)) return [];
    const made = text.matchAll(/^export (?:abstract |async )*(?:const|let|function\*?|class) ([A-Za-z_$][\w$]*)/gm);
    return [...made].flatMap(([, name = '']) => (files.get(name) === 1 ? `${file} ${name}` : []));
  });
  expect(dead).toEqual([]);
});
