import { readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { projectFiles, projectRoot } from './helpers/project-files.ts';

const root = projectRoot;
const files = projectFiles()
  .filter((file) => /^(?:src|test|bench|docs|config|\.ci|[^/]+$)/.test(file) && /\.(?:ts|mjs|md|toml|yml)$/.test(file))
  .filter((file) => file !== 'test/citations.test.ts');

/** How sections and rules of texts are cited that no reader of this repository has. */
const ELSEWHERE = /(?<![\w,.])00[0-4](?: ?§|'s\b|\))|\bDESIGN\b|\binvariant \d|\bR-00\d/;
/** Written in other places, not kept in this one: files of the agents' users, and of projects in tests and examples. */
const FOREIGN = /^(?:CLAUDE|AGENTS|notes|guide|a|b|x|y)\.md$/i;

function linesOf(file: string): string[] {
  return readFileSync(join(root, file), 'utf8').split('\n');
}

it('no comment and no page cites a document that is not in this repository', () => {
  expect(files.length).toBeGreaterThan(300);
  const prose = (line: string): boolean => /(?:^\s*(?:\/\*|\*|#)|\/\/)/.test(line);
  const wrong = files.flatMap((file) =>
    linesOf(file).flatMap((line, i) =>
      (file.endsWith('.md') || prose(line)) && ELSEWHERE.test(line) ? [`${file}:${i + 1} ${line.trim()}`] : [],
    ),
  );
  expect(wrong).toEqual([]);
});

it('no comment names a missing page', () => {
  const pages = new Set(files.filter((file) => file.endsWith('.md')).flatMap((file) => [file, basename(file)]));
  const wrong = files
    .filter((file) => /^(?:src|bench|docs)\//.test(file))
    .flatMap((file) =>
      linesOf(file).flatMap((line) =>
        [...line.matchAll(/(?:^|[\s(`[])((?:docs\/)?[A-Z][A-Z]+\.md|docs\/[\w-]+\.md)/g)].flatMap(([, page = '']) =>
          pages.has(page) || FOREIGN.test(basename(page)) || pages.has(join(dirname(file), page))
            ? []
            : [`${file}: ${page}`],
        ),
      ),
    );
  expect(wrong).toEqual([]);
});
