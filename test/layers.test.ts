import { readdirSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const root = fileURLToPath(new URL('../src', import.meta.url));
const files = readdirSync(root, { recursive: true, encoding: 'utf8' })
  .map((file) => file.replaceAll('\\', '/'))
  .filter((file) => file.endsWith('.ts'));

/** What a part may import of the other parts; `types` are those of which it may import types only. */
interface Layer {
  readonly from: readonly string[];
  readonly types?: readonly string[];
}

const ENGINE = ['engine', 'errors', 'base'];
const PURE = [...ENGINE, 'wires/json', 'wires/transcript', 'wires/goal'];
/** Requests are known by this alone; how a wire spells them is the business of those who put the parts together. */
const DOOR = 'wires/dialects/dialect';
/** Who answers requests to models: facts that routing, settings, the command line and the ledger share. */
const PROVIDERS = 'wires/providers';
/** Large parts that can be left out: what the rest of the program knows of them. Loads none of them. */
const EXTENSIONS = 'extensions';
/** The ports of the core implemented: each knows what it speaks to, none knows another. */
const SERVICE: Layer = { from: ENGINE, types: ['core/ports'] };
const SERVICES = [
  'store',
  'parts/team/postgres',
  'parts/team/keys',
  'backends',
  'core/decide/workers',
  'gc',
  'parts/fleet',
  'ledger',
  'mcp/resources',
  'agents',
  'config',
  'observe',
];
/** The faces: what the world talks to. They do not know each other. */
const FACE: Layer = { from: [...PURE, PROVIDERS, 'core', EXTENSIONS], types: [DOOR, ...SERVICES] };
const FACES = ['proxy', 'mcp', 'parts/page', 'parts/team/admin'];
const INSIDE = [...PURE, 'wires/dialects', PROVIDERS, 'core', 'parts/lab', 'parts/sessions/readers', ...SERVICES];

/** The layering of the house, innermost first. A part that is not named here fails the test: give it its place. */
const layers: Readonly<Record<string, Layer>> = {
  'errors/rows': { from: [] },
  errors: { from: ['errors/rows', 'extensions/errors'] },
  base: { from: [] },
  engine: { from: ['engine'] },
  'wires/json': { from: ['engine'] },
  'wires/transcript': { from: ['engine', 'wires/json'] },
  'wires/dialects': { from: ['engine', 'wires/json'] },
  [PROVIDERS]: { from: ['wires/json', 'wires/dialects'] },
  'wires/goal': { from: ['engine'], types: ['wires/transcript'] },
  core: { from: PURE, types: [DOOR] },
  'parts/sessions/readers': { from: [...PURE, 'core'] },
  'parts/lab': { from: [...PURE, 'core', 'parts/sessions/readers'] },
  ...Object.fromEntries(SERVICES.map((part) => [part, SERVICE])),
  config: { ...SERVICE, from: [...ENGINE, `${PROVIDERS}/facts`, `${EXTENSIONS}/settings`] },
  'core/decide/workers': { from: [...ENGINE, 'core'] },
  'parts/fleet': {
    from: [...ENGINE, 'core/ports', 'store/sql', 'store/text-codec', 'store/logs'],
    types: [EXTENSIONS],
  },
  'parts/fleet/seat': { from: ['errors/rows', ...INSIDE, ...FACES], types: ['app', EXTENSIONS] },
  'parts/team/keys/seat': {
    from: ['errors/rows', ...INSIDE, ...FACES, 'cli', 'app/store'],
    types: ['app', EXTENSIONS],
  },
  [EXTENSIONS]: {
    from: ['parts/fleet/seat', 'parts/fleet/tables', 'parts/team/keys/seat'],
    types: ['app', 'cli', 'config', 'core', 'store', ...FACES],
  },
  gc: { ...SERVICE, types: ['core/ports', 'store'] },
  'mcp/resources': { from: [...ENGINE, EXTENSIONS], types: ['core/ports', 'store'] },
  'parts/team/keys': { ...SERVICE, types: ['core/ports', 'store'] },
  store: {
    ...SERVICE,
    from: [...ENGINE, `${EXTENSIONS}/tables`, `${EXTENSIONS}/postgres-tables`, 'parts/team/postgres'],
  },
  'parts/team/postgres': {
    ...SERVICE,
    from: [...ENGINE, `${EXTENSIONS}/tables`, `${EXTENSIONS}/postgres-tables`, 'store'],
  },
  ...Object.fromEntries(FACES.map((part) => [part, FACE])),
  app: { from: [...INSIDE, ...FACES, EXTENSIONS] },
  cli: { from: [...INSIDE, ...FACES, EXTENSIONS, 'app', 'parts/sessions'] },
  'parts/sessions': { from: [...INSIDE, ...FACES, EXTENSIONS, 'app', 'cli'] },
  index: { from: ['agents', 'cli'] },
};

/** Libraries and words that belong to some places only. */
const bans: readonly { readonly what: string; readonly pattern: RegExp; readonly allowed: RegExp }[] = [
  {
    what: 'express',
    pattern: /from '(?:express|http-proxy-middleware)'/,
    allowed: /^(?:proxy|mcp|parts\/page|parts\/team\/admin)\/|^app\/mounts\.ts$/,
  },
  { what: 'pg', pattern: /'pg'/, allowed: /^parts\/team\/postgres\// },
  { what: 'better-sqlite3', pattern: /'better-sqlite3(?:-13)?'/, allowed: /^store\// },
  { what: 'process.env', pattern: /\bprocess\.env\b/, allowed: /^(?:config\/load|cli)\.ts$/ },
  { what: 'the clock', pattern: /\bDate\.now\b|\bnew Date\(\)/, allowed: /^(?:app\/serve|cli)\.ts$/ },
  { what: 'chance', pattern: /\bMath\.random\b|\brandomUUID\b|'ulid'/, allowed: /^app\/context\.ts$/ },
  { what: 'console', pattern: /\bconsole\./, allowed: /^$/ },
];

interface Import {
  readonly file: string;
  readonly target: string;
  readonly typeOnly: boolean;
}

function sourceOf(file: string): string {
  const text = readFileSync(join(root, file), 'utf8');
  return text.replaceAll(/\/\*[\s\S]*?\*\//g, '').replaceAll(/^\s*\/\/.*$/gm, '');
}

/** Imports of the project's own files, targets as paths below `src` without extension. */
function importsOf(file: string): Import[] {
  const statements = sourceOf(file).matchAll(
    /\b(?:import|export)\b(\s+type\b)?[^'";]*?\bfrom\s*'(\.[^']+)'|\bimport\(?\s*'(\.[^']+)'/g,
  );
  return [...statements].map(([, type, from, lazy]) => ({
    file,
    target: posix.join(posix.dirname(file), from ?? lazy ?? '').replace(/\.ts$/, ''),
    typeOnly: type !== undefined,
  }));
}

/** The innermost part of the table that holds a file. */
function partOf(path: string): string {
  const rooms = path.replace(/\.ts$/, '').split('/');
  for (let depth = rooms.length; depth > 1; depth--) {
    const part = rooms.slice(0, depth).join('/');
    if (part in layers) return part;
  }
  return rooms[0] ?? '';
}

function allowed({ file, target, typeOnly }: Import): boolean {
  const own = partOf(file);
  const layer = layers[own];
  if (layer === undefined) return false;
  if (partOf(target) === own) return true;
  const within = (places: readonly string[]): boolean =>
    places.some((place) => target === place || target.startsWith(`${place}/`));
  return within(layer.from) || (typeOnly && within(layer.types ?? []));
}

/** Files that may name a part that can be left out: for the fleet the word itself, for keys their modules and classes. */
const seats: readonly { readonly part: string; readonly word: RegExp; readonly allowed: RegExp }[] = [
  { part: 'the fleet', word: /fleet/i, allowed: /^(?:parts\/fleet|extensions)\// },
  {
    part: 'keys',
    word: /'[./]+(?:src\/)?(?:parts\/)?(?:team\/)?keys\/|\b(?:Key(?:Ring|Desk|Door|Gate)|Identities|NarrowedStore|errorsOfKeys|keysSettings|openKeys)\b/,
    allowed: /^(?:parts\/team\/keys|extensions)\//,
  },
];

describe('the layers of the code', () => {
  it('import only from inner layers', () => {
    const imports = files.flatMap(importsOf);
    expect(imports.length).toBeGreaterThan(50);
    const wrong = imports.filter((one) => !allowed(one)).map(({ file, target }) => `${file} imports ${target}`);
    expect(wrong).toEqual([]);
  });

  it('are all known', () => {
    const unknown = [...new Set(files.map(partOf))].filter((part) => layers[part] === undefined);
    expect(unknown).toEqual([]);
  });

  it.each(bans)('keep $what in its place', ({ pattern, allowed }) => {
    const wrong = files.filter((file) => !allowed.test(file) && pattern.test(sourceOf(file)));
    expect(wrong).toEqual([]);
  });

  it.each(seats)('name $part in the list of extensions only', ({ word, allowed }) => {
    const wrong = files.filter((file) => !allowed.test(file) && word.test(sourceOf(file)));
    expect(wrong).toEqual([]);
  });

  it('keep the command line from loading what it may not need', () => {
    const eager = ['cli.ts', 'cli/main.ts'].flatMap((file) =>
      [...sourceOf(file).matchAll(/^import (?!type\b).*from '(\.[^']+)'/gm)].map(([, target]) => target),
    );
    expect(eager.filter((target) => /app|serve|store|proxy|mcp\/|settings\.ts|load/.test(target ?? ''))).toEqual([]);
  });

  it('open the port before the handlers of requests are loaded', () => {
    const met = new Set<string>();
    const meet = (file: string): void => {
      if (met.has(file)) return;
      met.add(file);
      for (const [, target] of sourceOf(file).matchAll(/^(?:import|\} from) (?!type\b).*?'(\.[^']+)'/gm)) {
        meet(posix.join(posix.dirname(file), target ?? ''));
      }
    };
    meet('app/serve.ts');
    expect(met.size).toBeGreaterThan(20);
    expect(
      [...met].filter((file) =>
        /^(?:wires\/dialects|engine|wires\/goal)\/|websocket\/handler|upstream\.ts$/.test(file),
      ),
    ).toEqual([]);
  });

  it('keep a server without keys from loading their code', () => {
    const ofKeys = /^(?:parts\/team\/keys\/(?!seat\/(?:extension|settings|errors)$)|store\/(?:keys|projects)$)/;
    const inside = (file: string): boolean => ofKeys.test(file.replace(/\.ts$/, ''));
    const eager = files
      .filter((file) => !inside(file))
      .flatMap((file) =>
        [...sourceOf(file).matchAll(/^import (?!type\b)[^'"]*from '(\.[^']+)'/gm)]
          .map(([, target = '']) => posix.join(posix.dirname(file), target).replace(/\.ts$/, ''))
          .filter((target) => ofKeys.test(target))
          .map((target) => `${file} imports ${target}`),
      );
    expect(eager).toEqual([]);
  });
});
