import { readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { describe, expect, it } from 'vitest';

const root = join(import.meta.dirname, '..', '..', 'src', 'engine');
const files = readdirSync(root, { recursive: true, encoding: 'utf8' })
  .map((file) => file.replaceAll('\\', '/'))
  .filter((file) => file.endsWith('.ts'));

/** The rooms of the engine, innermost first; each may import from those before it. The last one is the files beside them. */
const ROOMS = ['text', 'search', 'rules', 'goal', 'rank', 'kinds', 'asked', 'choose', ''];

function sourceOf(file: string): string {
  return readFileSync(join(root, file), 'utf8')
    .replaceAll(/\/\*[\s\S]*?\*\//g, '')
    .replaceAll(/^\s*\/\/.*$/gm, '');
}

function importsOf(file: string): string[] {
  const found = sourceOf(file).matchAll(/\bfrom '(\.[^']+)'/g);
  return [...found].map(([, target]) => posix.join(posix.dirname(file), target ?? ''));
}

const roomOf = (file: string): number => ROOMS.indexOf(file.includes('/') ? (file.split('/')[0] ?? '') : '');

/** The files of a circle of imports, or an empty list. */
function circle(): string[] {
  const done = new Set<string>();
  const visit = (file: string, above: readonly string[]): string[] => {
    if (above.includes(file)) return [...above.slice(above.indexOf(file)), file];
    if (done.has(file)) return [];
    for (const target of importsOf(file)) {
      const found = visit(target, [...above, file]);
      if (found.length > 0) return found;
    }
    done.add(file);
    return [];
  };
  return files.map((file) => visit(file, [])).find((found) => found.length > 0) ?? [];
}

describe('the folders of the engine', () => {
  it('import only from inner folders', () => {
    expect(files.length).toBeGreaterThan(60);
    const types = (target: string): boolean => target === 'types.ts';
    const wrong = files.flatMap((file) =>
      importsOf(file)
        .filter((target) => !types(target) && roomOf(target) > roomOf(file))
        .map((target) => `${file} imports ${target}`),
    );
    expect(wrong).toEqual([]);
  });

  it('have no circular imports', () => {
    expect(circle()).toEqual([]);
  });

  it('use the family of a text only in kinds/', () => {
    const asking = files.filter((file) => !file.startsWith('kinds/') && /\bfamily\b/.test(sourceOf(file)));
    expect(asking).toEqual([]);
  });

  it('use the name of a kind only in kinds/ and in types.ts', () => {
    const named = /['"](?:test-run|build-log|grep|python|markdown|listing)['"]/;
    const allowed = ['types.ts'];
    const wrong = files.filter(
      (file) => !file.startsWith('kinds/') && !allowed.includes(file) && named.test(sourceOf(file)),
    );
    expect(wrong).toEqual([]);
  });
});
