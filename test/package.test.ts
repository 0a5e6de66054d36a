import { execFileSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  linkSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { compiled } from './helpers/built.ts';
import { projectFiles, projectRoot } from './helpers/project-files.ts';

const root = projectRoot;
const text = (file: string): string => readFileSync(`${root}${file}`, 'utf8');
const manifest = JSON.parse(text('package.json')) as Readonly<
  Record<'optionalDependencies' | 'bugs' | 'repository' | 'scripts', Readonly<Record<string, string>>> & {
    homepage: string;
    files: readonly string[];
  }
>;

it('the lock file has no field that npm 10 removes when it installs', () => {
  const { packages } = JSON.parse(text('package-lock.json')) as { packages: Record<string, object> };
  expect(Object.keys(packages).length).toBeGreaterThan(100);
  expect(Object.entries(packages).filter(([, about]) => 'libc' in about)).toEqual([]);
});

describe('a build', () => {
  it('is ASCII, so that its code takes one byte a character in memory', () => {
    const parts = dirname(compiled('parts/decide-worker.js'));
    const codeOf = new Map([['cli.js', readFileSync(compiled('cli.js'), 'latin1')]]);
    for (const [, code] of codeOf)
      for (const [, name = ''] of code.matchAll(/["'`]\.\/(?:parts\/)?([\w-]+-[\w-]{8}\.js)["'`]/g))
        if (!codeOf.has(name)) codeOf.set(name, readFileSync(join(parts, name), 'latin1'));
    expect(codeOf.size).toBeGreaterThan(50);
    const others = Array.from(codeOf, ([name, code]) => (/[\x80-\xff]/.test(code) ? name : '')).filter(Boolean);
    expect(others).toEqual([]);
  });

  it('keeps parts that a running server may load, replaces files atomically, and deletes week-old parts', () => {
    const folder = mkdtempSync(join(tmpdir(), 'mcp-pruner-build-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    cpSync(dirname(compiled('cli.js')), folder, { recursive: true });
    const [recent, old] = ['keys-recent.js', 'keys-old.js'].map((name) => join(folder, 'parts', name)) as [
      string,
      string,
    ];
    writeFileSync(recent, '');
    writeFileSync(old, '');
    const dayMs = 24 * 3_600_000;
    utimesSync(recent, new Date(), new Date(Date.now() - 6 * dayMs));
    utimesSync(old, new Date(), new Date(Date.now() - 8 * dayMs));
    const [, part = ''] =
      /(?:from ?|import\()["`]\.\/(parts\/[^"`]+)["`]/.exec(readFileSync(join(folder, 'cli.js'), 'utf8')) ?? [];
    expect(part).toMatch(/-[\w-]{8}\.js$/);
    // a server that is running opened these files before the next build
    const opened = ['cli.js', part].map((name) => {
      const other = join(folder, `opened-${name.length}`);
      linkSync(join(folder, name), other);
      return { name, other };
    });
    writeFileSync(join(folder, 'cli.js'), `${readFileSync(join(folder, 'cli.js'), 'utf8')}// an older build`);
    const before = opened.map(({ other }) => readFileSync(other, 'utf8'));
    execFileSync(process.execPath, [join(root, 'build/build.mjs'), folder, '--types']);
    expect([existsSync(recent), existsSync(old)]).toEqual([true, false]);
    expect(opened.map(({ other }) => readFileSync(other, 'utf8'))).toEqual(before);
    // unchanged sources: nothing is written
    const { mtimeMs } = statSync(join(folder, 'cli.js'));
    execFileSync(process.execPath, [join(root, 'build/build.mjs'), folder, '--if-changed']);
    expect(statSync(join(folder, 'cli.js')).mtimeMs).toBe(mtimeMs);
    const types = readFileSync(join(folder, 'index.d.ts'), 'utf8');
    expect(types).toContain('export { type BuildOptions, buildMcpServers,');
    expect(types).not.toMatch(/^import |from '/m);
    expect(readFileSync(join(folder, 'cli.js'), 'utf8')).not.toBe(before[0]);
    expect(readdirSync(join(folder, 'parts')).filter((name) => name.endsWith('.new'))).toEqual([]);
  });
});

describe('the package', () => {
  it('depends only on packages that are not bundled', () => {
    const [, external = ''] = /external: \[([^\]]*)\]/.exec(text('build/build.mjs')) ?? [];
    const names = [...external.matchAll(/'([^']+)'/g)].map(([, name]) => name);
    // the driver of Node 20 is compiled, so its users install it themselves
    expect(names.sort()).toEqual(['better-sqlite3', ...Object.keys(manifest.optionalDependencies)]);
  });

  it('has no script that npm runs implicitly, because .npmrc disables these', () => {
    expect(text('.npmrc')).toContain('ignore-scripts=true');
    const names = Object.keys(manifest.scripts);
    const implied = names.filter((name) =>
      names.some(
        (other) => name === `pre${other}` || name === `post${other}` || /^(?:pre|post)?install$|^prepare/.test(name),
      ),
    );
    expect(implied).toEqual([]);
  });

  it('names its repository and its issue tracker', () => {
    const { homepage, bugs, repository } = manifest;
    expect([homepage, bugs.url, repository.url]).toEqual([
      expect.stringMatching(/^https:/),
      expect.stringMatching(/^https:.*issues$/),
      expect.stringMatching(/^git\+https:.*\.git$/),
    ]);
  });

  it('contains every page that its pages link to', () => {
    const pages = projectFiles().filter((file) => file.endsWith('.md'));
    const packed = (file: string): boolean =>
      manifest.files.some((part) => file === part || file.startsWith(`${part}/`));
    const links = pages.filter(packed).flatMap((page) =>
      [
        ...text(page)
          .replaceAll(/^```[\s\S]*?^```/gm, '')
          .replaceAll(/^!\[.*\.png\)$/gm, '') // pictures are read in the repository
          .matchAll(/\]\((?!https?:|#|mailto:)([^)#\s]+)/g),
      ].map(([, link = '']) => {
        const target = new URL(link, `file:///${page}`).pathname.slice(1);
        return { page, target };
      }),
    );
    expect(links.length).toBeGreaterThan(5);
    expect(links.filter(({ target }) => !packed(target) || !existsSync(`${root}${target}`))).toEqual([]);
  });

  it('leaves out pictures of the page and source maps', () => {
    const packed = JSON.parse(
      execFileSync('npm', ['pack', '--dry-run', '--ignore-scripts', '--json'], { cwd: root, encoding: 'utf8' }),
    ) as [{ readonly files: readonly { readonly path: string }[] }];
    const paths = packed[0].files.map(({ path }) => path);
    expect(paths).toContain('docs/page.md');
    expect(paths.filter((path) => /\.(?:png|map)$/.test(path))).toEqual([]);
  });
});
