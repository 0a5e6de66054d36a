import { contentOf, isUnnumbered, type View } from '../text/view.ts';
import type { Hints, SourceType } from '../types.ts';
import type { Shapes } from './shape-rules.ts';
import { countShapes, SAMPLE_LINES } from './shapes.ts';

/** What a kind's lines are like, and so how they are protected, ranked and cut. */
export type Family = 'code' | 'docs' | 'log' | 'search' | 'diff' | 'listing' | 'json' | 'table';

/** A recognised kind of text. */
export interface Kind {
  /** Such as `python`, `test-run`, `grep`, `diff`, `json`. */
  readonly name: string;
  readonly family: Family;
  readonly sourceType: SourceType;
}

const BY_EXTENSION: Readonly<Record<string, string>> = {
  py: 'python',
  pyi: 'python',
  pyx: 'python',
  ts: 'typescript',
  tsx: 'typescript',
  mts: 'typescript',
  cts: 'typescript',
  js: 'javascript',
  jsx: 'javascript',
  mjs: 'javascript',
  cjs: 'javascript',
  vue: 'javascript',
  svelte: 'javascript',
  go: 'go',
  rs: 'rust',
  java: 'java',
  kt: 'java',
  scala: 'java',
  groovy: 'java',
  swift: 'java',
  c: 'c',
  h: 'c',
  cc: 'c',
  cpp: 'c',
  cxx: 'c',
  hpp: 'c',
  hh: 'c',
  m: 'c',
  cs: 'csharp',
  rb: 'ruby',
  rake: 'ruby',
  php: 'php',
  sh: 'shell',
  bash: 'shell',
  zsh: 'shell',
  fish: 'shell',
  ps1: 'shell',
  sql: 'sql',
  yaml: 'yaml',
  yml: 'yaml',
  toml: 'toml',
  ini: 'toml',
  cfg: 'toml',
  conf: 'toml',
  env: 'toml',
  html: 'html',
  htm: 'html',
  xml: 'html',
  svg: 'html',
  css: 'css',
  scss: 'css',
  less: 'css',
  lua: 'code',
  pl: 'code',
  pm: 'code',
  r: 'code',
  dart: 'code',
  ex: 'code',
  exs: 'code',
  erl: 'code',
  hs: 'code',
  ml: 'code',
  clj: 'code',
  zig: 'code',
  proto: 'code',
  tf: 'code',
  gradle: 'code',
  cmake: 'code',
  md: 'markdown',
  mdx: 'markdown',
  markdown: 'markdown',
  rst: 'rst',
  txt: 'text',
  adoc: 'text',
  tex: 'text',
  org: 'text',
  log: 'log',
  out: 'log',
  diff: 'diff',
  patch: 'diff',
  json: 'json',
  ipynb: 'json',
  geojson: 'json',
  jsonl: 'log',
  ndjson: 'log',
  csv: 'table',
  tsv: 'table',
};

const FAMILIES: Readonly<Record<string, Family>> = {
  markdown: 'docs',
  rst: 'docs',
  text: 'docs',
  log: 'log',
  'test-run': 'log',
  compiler: 'log',
  'build-log': 'log',
  trace: 'log',
  grep: 'search',
  diff: 'diff',
  listing: 'listing',
  json: 'json',
  table: 'table',
};

const SOURCE_TYPES: Readonly<Record<Family, SourceType>> = {
  code: 'code',
  docs: 'docs',
  log: 'logs',
  search: 'code',
  diff: 'code',
  listing: 'logs',
  json: 'docs',
  table: 'docs',
};

/** Recognises what a text is, from what the caller knows and from the text itself. */
export function recogniseKind(view: View, sourceType: SourceType | undefined, hints: Hints | undefined): Kind {
  const name = nameOf(view, sourceType, hints);
  const family = FAMILIES[name] ?? 'code';
  return { name, family, sourceType: sourceType ?? SOURCE_TYPES[family] };
}

function nameOf(view: View, sourceType: SourceType | undefined, hints: Hints | undefined): string {
  const listed = listedKind(view, hints);
  if (listed !== undefined) return listed;
  const byPath = extensionKind(hints?.path);
  const isRead = byPath !== undefined && hints?.origin === 'read';
  if (isRead && byPath !== 'markdown') return byPath;
  if (hints?.origin === 'listing') return 'listing';
  const name = nameByLooks(view, (seen) => {
    if (isRead) return isTable(seen) ? 'table' : byPath;
    return (
      shapeName(seen, hints) ?? (hints?.origin === 'search' ? 'grep' : (byPath ?? typeName(seen, sourceType, hints)))
    );
  });
  return name === SOME_LANGUAGE ? languageName(view) : name;
}

/** Stands for code until its language is looked for. */
const SOME_LANGUAGE = '';

function typeName(seen: Shapes, sourceType: SourceType | undefined, hints: Hints | undefined): string {
  if (sourceType === 'logs') return logName(seen);
  if (sourceType === 'docs') return docsName(seen);
  if (sourceType === 'code') return SOME_LANGUAGE;
  if (isLog(seen)) return logName(seen);
  if (seen.prose > seen.lines * 0.3 && seen.prose > seen.codeLike) return docsName(seen);
  if (hints?.origin === 'command' && seen.codeLike < seen.lines * 0.6) return logName(seen);
  return seen.codeLike > seen.lines * 0.25 ? SOME_LANGUAGE : docsName(seen);
}

/** What a fifth of the lines looked at and another fifth agree on, or all of them say. */
function nameByLooks(view: View, nameOf: (seen: Shapes) => string): string {
  if (view.n >= MIN_LINES_FOR_LOOKS) {
    const name = nameOf(countShapes(view, { which: 0, of: LOOKS }));
    if (name === nameOf(countShapes(view, { which: 1, of: LOOKS }))) return name;
  }
  return nameOf(countShapes(view));
}

const LOOKS = 5;
const MIN_LINES_FOR_LOOKS = 160;

const FRAME_LINES = 40;

/**
 * The kind of a file that a tool listed with numbers under a line of its own that names it (`[File: src/a.py (94 lines
 * total)]`, `Here's the result of running cat -n on src/a.py:`).
 */
function listedKind(view: View, hints: Hints | undefined): string | undefined {
  if (!view.numbered || hints?.path !== undefined) return undefined;
  for (let i = 0; i < Math.min(view.n, FRAME_LINES); i++) {
    if (!isUnnumbered(view, i)) continue;
    for (const word of contentOf(view, i, 400).split(/[\s"'`()<>[\]:,;=]/)) {
      const kind = word.includes('.') ? extensionKind(word) : undefined;
      if (kind !== undefined) return kind;
    }
  }
  return undefined;
}

function isLog(s: Shapes): boolean {
  return s.stamped + s.testing + s.frames > s.lines * 0.3 || s.compiler > s.lines * 0.05 || s.failing > s.lines * 0.25;
}

/** Most lines have the same number of tabs, commas or bars, and more than one. */
function isTable(s: Shapes): boolean {
  return s.table > s.lines * 0.8;
}

/** Kind by a path's extension, `undefined` for one that says nothing. */
export function extensionKind(path: string | undefined): string | undefined {
  if (path === undefined) return undefined;
  const name = path.slice(path.lastIndexOf('/') + 1).toLowerCase();
  if (name === 'dockerfile' || name === 'makefile' || name === 'cmakelists.txt') return 'shell';
  const dot = name.lastIndexOf('.');
  return dot < 0 ? undefined : BY_EXTENSION[name.slice(dot + 1)];
}

function shapeName(s: Shapes, hints: Hints | undefined): string | undefined {
  const most = s.lines * 0.6;
  if (s.hunks > 0 && s.diff > 0) return 'diff';
  if (s.lines < 3) return undefined;
  const command = hints?.command ?? '';
  if (/\b(?:grep|rg|ag|ack)\b/.test(command) && s.grep > s.lines * 0.4) return 'grep';
  if (s.json > s.lines * 0.9) return 'json';
  if (s.stamped > most) return undefined;
  if (s.grep > s.lines * 0.8 && s.compiler < s.lines * 0.3) return 'grep';
  if (s.listing > s.lines * 0.8) return 'listing';
  if ((isTable(s) || s.aligned > s.lines * 0.9) && s.compiler + s.testing < s.lines * 0.1) return 'table';
  return undefined;
}

function logName(s: Shapes): string {
  if (s.testing > s.lines * 0.1) return 'test-run';
  if (s.compiler > s.lines * 0.05) return 'compiler';
  if (s.frames > s.lines * 0.4) return 'trace';
  return s.stamped > s.lines * 0.5 ? 'log' : 'build-log';
}

function docsName(s: Shapes): string {
  if (s.headings > 0) return 'markdown';
  if (s.rst > 1) return 'rst';
  if (isTable(s)) return 'table';
  return 'text';
}

const LANGUAGES: readonly (readonly [string, RegExp])[] = [
  [
    'python',
    /^\s*(?:def \w+\(.*:$|class \w+.*:$|from \S+ import |import \w+$|(?:if|elif|for|while|with|except) .*:$|(?:else|try):$|@\w+|raise \w|return self\b|self\.\w+ =|"""$)/,
  ],
  ['rust', /^\s*(?:pub |fn \w|impl\b|let mut |use \w+(?:::|;)|#\[)/],
  ['go', /^(?:package \w+$|func |import \(|type \w+ (?:struct|interface))|\s:= /],
  ['java', /^\s*(?:import (?:static )?[\w.]+;|package [\w.]+;|(?:public|private|protected) .*[{;]$|@Override)/],
  ['c', /^\s*(?:#\s*(?:include|define|if|endif|ifdef)\b|(?:static|struct|void|int|char|unsigned|size_t) .*[;{)]$)/],
  ['typescript', /^\s*(?:import .* from ['"]|export (?:type|interface|const|function|class)|(?:const|let) \w+: )/],
  ['javascript', /^\s*(?:(?:const|let|var) .*=|function\b|module\.exports|import .* from)|=> \{?$/],
  ['ruby', /^\s*(?:end$|def \w+[^:]*$|require ['"]|module \w+$)/],
  ['php', /^<\?php|^\s*(?:\$\w+ =|public function|namespace \w)/],
  ['shell', /^(?:#!.*sh$|\s*(?:fi|done|esac|then)$|\s*(?:if|while) \[)/],
  ['sql', /^\s*(?:SELECT|INSERT|CREATE|UPDATE|ALTER|DROP|FROM|WHERE)\b/i],
  ['html', /^\s*<\/?[a-zA-Z][^>]*>/],
  ['css', /^[.#@]?[\w-].*\{$|^\s+[\w-]+: [^;]+;$/],
  ['yaml', /^\s*(?:- )?[\w./-]+:(?: \S.*)?$/],
  ['toml', /^\[[\w.-]+\]$|^\w+ = /],
];

function languageName(view: View): string {
  const counts = LANGUAGES.map(() => 0);
  const step = Math.max(1, Math.floor(view.n / SAMPLE_LINES));
  for (let i = 0; i < view.n; i += step) {
    const line = contentOf(view, i, 200);
    LANGUAGES.forEach(([, rule], k) => {
      if (rule.test(line)) counts[k] = (counts[k] ?? 0) + 1;
    });
  }
  let best = -1;
  counts.forEach((count, k) => {
    if (count > 0 && (best < 0 || count > (counts[best] ?? 0))) best = k;
  });
  return LANGUAGES[best]?.[0] ?? 'code';
}
