import type { SourceType } from '../../engine/types.ts';

const DOCS = new Set(['md', 'mdx', 'markdown', 'rst', 'txt', 'adoc', 'asciidoc', 'org', 'textile', 'tex', 'pod']);

/** Files without an ending that hold prose. */
const PROSE_NAMES = new Set('readme changes changelog news history authors contributing todo license'.split(' '));

/** Names and endings of files that programs write: nobody reads them for a change's meaning. */
const GENERATED_NAMES = new Set(
  `package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.yaml bun.lock cargo.lock poetry.lock uv.lock pdm.lock
  pipfile.lock composer.lock gemfile.lock go.sum flake.lock`.split(/\s+/),
);
const GENERATED_ENDINGS = ['.min.js', '.min.css', '.map', '.snap', '.svg', '.pb.go', '.po', '.pot'];

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1).toLowerCase();
}

/** The ending of a path without the dot, in lower case, or the whole name of a file that has none. */
export function fileTypeOf(path: string): string {
  const name = nameOf(path);
  const dot = name.lastIndexOf('.');
  return dot > 0 ? name.slice(dot + 1) : name;
}

/** The source type of a repository's file in `prune_text`. */
export function sourceTypeOf(path: string): SourceType {
  const type = fileTypeOf(path);
  if (DOCS.has(type) || PROSE_NAMES.has(type)) return 'docs';
  return type === 'log' ? 'logs' : 'code';
}

/** Whether a file is a lock file, a snapshot, minified or otherwise written by a program. */
export function isGenerated(path: string): boolean {
  const name = nameOf(path);
  return GENERATED_NAMES.has(name) || GENERATED_ENDINGS.some((ending) => name.endsWith(ending));
}
