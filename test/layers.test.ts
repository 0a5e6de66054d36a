import { describe, expect, it } from 'vitest';
import { importedFile, sourceFiles } from './helpers/project-files.ts';

/** A path as the rooms have it: `core/hash.ts`, or `packages/page/page.ts`. */
const placed = (file: string): string => file.replace(/^src\//, '').replace(/^(packages\/[\w-]+)\/src\//, '$1/');

const texts = new Map(sourceFiles().map(({ file, text }) => [placed(file), { file, text }]));
const files = [...texts.keys()];
/** Without the views of the page, which run in the browser. */
const programs = files.filter((file) => file.endsWith('.ts'));

/**
 * The rooms of the house by layer, lowest first. A room imports from lower layers, never from its own layer or a higher
 * one. Files directly in `src` are the entry: they stand above all layers, and only they name the packages.
 */
const layers: readonly (readonly string[])[] = [
  ['base', 'errors', 'engine'],
  ['wires'],
  ['core'],
  ['store', 'config', 'observe'],
  ['proxy', 'mcp'],
  ['app'],
  ['cli'],
  // libraries of commands and guests
  ['packages/backends', 'packages/money', 'packages/ui', 'packages/why'],
  ['packages/agents'],
  ['context', 'fleet', 'ledger', 'limits', 'page', 'recall', 'seams', 'sessions', 'stdio', 'team'].map(
    (name) => `packages/${name}`,
  ),
  // private: measures the others
  ['packages/lab'],
];
const ENTRY = layers.length;

/** Rooms that may import only some of the files below them; `types` are those whose types alone they may import. */
interface Narrow {
  readonly rooms: readonly string[];
  /** The folder that is not open to them as a whole. */
  readonly folder: string;
  readonly values?: readonly string[];
  readonly types?: readonly string[];
}

const [, , , services = [], faces = []] = layers;
const narrow: readonly Narrow[] = [
  // the core knows requests by their interface alone, and of providers which models check their history
  { rooms: ['core'], folder: 'wires/dialects', types: ['wires/dialects/dialect'] },
  { rooms: ['core'], folder: 'wires/providers', values: ['wires/providers/checks-history'] },
  // prices and bills are for packages; everything else knows dollars by ports alone
  { rooms: ['packages/money'], folder: 'core', types: ['core/ports'] },
  { rooms: ['packages/money'], folder: 'wires' },
  // services implement the ports of the core, and know nothing else of it
  { rooms: services, folder: 'core', types: ['core/ports'] },
  { rooms: services, folder: 'wires', values: ['wires/providers/facts'] },
  // faces get their services from `app`
  ...services.map((folder) => ({ rooms: faces, folder, types: [folder] })),
];

/** Libraries and words that belong to some places only. */
const bans: readonly { readonly what: string; readonly pattern: RegExp; readonly allowed: RegExp }[] = [
  {
    what: 'express',
    pattern: /from '(?:express|http-proxy-middleware)'/,
    allowed: /^(?:proxy|mcp|packages\/page|packages\/team\/admin)\/|^app\/(?:mounts\.ts$|page\/)/,
  },
  { what: 'pg', pattern: /'pg'/, allowed: /^packages\/team\/postgres\// },
  { what: 'better-sqlite3', pattern: /'better-sqlite3(?:-13)?'/, allowed: /^store\// },
  { what: 'process.env', pattern: /\bprocess\.env\b/, allowed: /^(?:config\/load|cli|program)\.ts$/ },
  {
    what: 'the clock',
    pattern: /\bDate\.now\b|\bnew Date\(\)/,
    allowed: /^(?:app\/serve|cli|program)\.ts$/,
  },
  { what: 'chance', pattern: /\bMath\.random\b|\brandomUUID\b|'ulid'/, allowed: /^app\/context\.ts$/ },
  { what: 'console', pattern: /\bconsole\./, allowed: /^$/ },
];

interface Import {
  readonly file: string;
  readonly target: string;
  readonly typeOnly: boolean;
}

function sourceOf(file: string): string {
  const text = texts.get(file)?.text ?? '';
  return text.replaceAll(/\/\*[\s\S]*?\*\//g, '').replaceAll(/^\s*\/\/.*$/gm, '');
}

/** Path of an imported file as the rooms have it, without extension; `null` for a library. */
function targetOf(file: string, specifier: string): string | null {
  const target = importedFile(texts.get(file)?.file ?? '', specifier);
  return target && placed(target).replace(/\.tsx?$/, '');
}

/** Imports of the project's own files, targets without extension. */
function importsOf(file: string): Import[] {
  const statements = sourceOf(file).matchAll(
    /\b(?:import|export)\b(\s+type\b)?[^'";]*?\bfrom\s*'([^']+)'|\bimport\(?\s*'([^']+)'/g,
  );
  return [...statements].flatMap(([, type, from, lazy]) => {
    const target = targetOf(file, from ?? lazy ?? '');
    return target === null ? [] : [{ file, target, typeOnly: type !== undefined }];
  });
}

/** The room that holds a file: a folder of `src`, or a package; `''` for the entry. */
function roomOf(path: string): string {
  const [first = '', second, third] = path.split('/');
  if (second === undefined) return '';
  return first === 'packages' && third !== undefined ? `${first}/${second}` : first;
}

function layerOf(room: string): number {
  return room === '' ? ENTRY : layers.findIndex((rooms) => rooms.includes(room));
}

const isIn = (folders: readonly string[] | undefined, path: string): boolean =>
  folders?.some((folder) => path === folder || path.startsWith(`${folder}/`)) === true;

function isAllowed({ file, target, typeOnly }: Import): boolean {
  const [from, to] = [roomOf(file), roomOf(target)];
  if (from === to) return true;
  if (layerOf(to) >= layerOf(from)) return false;
  return narrow
    .filter(({ rooms, folder }) => rooms.includes(from) && isIn([folder], target))
    .every(({ values, types }) => isIn(values, target) || (typeOnly && isIn(types, target)));
}

/** Files that may name a part that can be left out: for the fleet the word itself, for keys their modules and classes. */
const seats: readonly { readonly part: string; readonly word: RegExp; readonly allowed: RegExp }[] = [
  { part: 'the fleet', word: /fleet/i, allowed: /^(?:packages\/fleet\/|(?:edition|commands)\.ts$)/ },
  {
    part: 'keys',
    word: /'(?:[./]+|@mcp-pruner\/team\/)keys\/|\b(?:Key(?:Ring|Desk|Door|Gate)|Identities|narrowedStore|keysSettings|openKeys)\b/,
    allowed: /^(?:packages\/team\/|(?:edition|commands)\.ts$)/,
  },
];

describe('the layers of the code', () => {
  it('import only from lower layers', () => {
    const imports = files.flatMap(importsOf);
    expect(imports.length).toBeGreaterThan(50);
    const wrong = imports.filter((one) => !isAllowed(one)).map(({ file, target }) => `${file} imports ${target}`);
    expect(wrong).toEqual([]);
  });

  it('include every folder, and every listed folder exists', () => {
    const rooms = new Set(files.map(roomOf));
    expect([...rooms].filter((room) => layerOf(room) < 0)).toEqual([]);
    expect(layers.flat().filter((room) => !rooms.has(room))).toEqual([]);
  });

  it.each(bans)('keep $what in its place', ({ pattern, allowed }) => {
    const wrong = programs.filter((file) => !allowed.test(file) && pattern.test(sourceOf(file)));
    expect(wrong).toEqual([]);
  });

  it.each(seats)('mention $part only in its folder and in the entry', ({ word, allowed }) => {
    const wrong = programs.filter((file) => !allowed.test(file) && word.test(sourceOf(file)));
    expect(wrong).toEqual([]);
  });

  it('keep the command line from loading optional modules', () => {
    const eager = ['cli.ts', 'commands.ts', 'cli/main.ts'].flatMap((file) =>
      [...sourceOf(file).matchAll(/^import (?!type\b).*from '((?:\.|@?mcp-pruner\/)[^']+)'/gm)].map(
        ([, target]) => target,
      ),
    );
    expect(
      eager.filter((target) => /app|serve|store|proxy|mcp\/|settings\.ts|load|edition|@mcp-pruner/.test(target ?? '')),
    ).toEqual([]);
  });

  it('open the port before the handlers of requests are loaded', () => {
    const met = new Set<string>();
    const meet = (file: string): void => {
      if (met.has(file)) return;
      met.add(file);
      for (const [, target = ''] of sourceOf(file).matchAll(/^(?:import|\} from) (?!type\b).*?'([^']+)'/gm)) {
        const path = importedFile(texts.get(file)?.file ?? '', target);
        if (path !== null) meet(placed(path));
      }
    };
    meet('app/serve.ts');
    meet('edition.ts');
    expect(met.size).toBeGreaterThan(20);
    expect(
      [...met].filter((file) =>
        /^(?:wires\/dialects|engine|wires\/goal)\/|websocket\/handler|upstream\.ts$/.test(file),
      ),
    ).toEqual([]);
  });

  it('keep a server without access keys from loading the code for keys', () => {
    const ofKeys = /^(?:packages\/team\/keys\/(?!(?:errors|settings|part|seat\/check)$)|store\/(?:keys|projects)$)/;
    const inside = (file: string): boolean => ofKeys.test(file.replace(/\.ts$/, ''));
    const eager = programs
      .filter((file) => !inside(file))
      .flatMap((file) =>
        [...sourceOf(file).matchAll(/^import (?!type\b)[^'"]*from '([^']+)'/gm)]
          .map(([, target = '']) => targetOf(file, target) ?? '')
          .filter((target) => ofKeys.test(target))
          .map((target) => `${file} imports ${target}`),
      );
    expect(eager).toEqual([]);
  });
});
