import { createHash } from 'node:crypto';
import { splitLines } from 'mcp-pruner/engine/text/lines.ts';
import type { SourceType } from 'mcp-pruner/engine/types.ts';
import { type FileChange, listChanges, listCommits, listHunks, type OldRange, type Repository } from './git.ts';
import { type ObjectAnswer, ObjectReader } from './object-reader.ts';
import { terms } from './terms.ts';

/** Trailer keys that do not describe the purpose of a change. */
const TRAILERS = new Set(
  `signed-off-by, co-authored-by, co-developed-by, reviewed-by, acked-by, tested-by, reported-by, suggested-by,
  helped-by, assisted-by, approved-by, cc, change-id, bug, issue, closes, close, fixes, resolves, refs, ref, see,
  see also, related, related to, changelog, pr-url, pr-close, reviewed-on, backport-of, git-svn-id,
  cherry-picked-from, release-notes, link, differential revision`.split(/,\s+/),
);

/** `Key: value` with a known key, or a bare reference such as `Fixes #12` or `(cherry picked from …)`. */
function isTrailer(line: string): boolean {
  const text = line.trim();
  if (text.toLowerCase().startsWith('(cherry picked from')) return true;
  const [word = '', next = ''] = text.split(' ', 2);
  const colon = text.indexOf(':');
  if (colon > 0 && TRAILERS.has(text.slice(0, colon).toLowerCase())) {
    const key = text.slice(0, colon).toLowerCase();
    const value = text.slice(colon + 1).trim();
    // "fix"-like keys may begin a subject line ("Fixes: crash when …"); a reference contains a number or a URL.
    return key.includes('-') || /^(?:#|gh-|https?:|[\w./-]*#\d)/i.test(value) || value.includes('@');
  }
  return TRAILERS.has(word.toLowerCase()) && /^(?:#|gh-|https?:|[\w./-]{0,80}#\d)/i.test(next);
}

/** Removes ` (#123)`, ` (gh-123)` and ` #123` from a line. */
function withoutNumbers(line: string): string {
  return line.replaceAll(/ ?\((?:gh-|#)\d{1,9}\)/gi, '').replaceAll(/ #\d{1,9}\b/g, '');
}

/** Derives a goal from a commit message: without trailers, bare URLs and issue numbers, at most 3,000 characters. */
export function goalFromMessage(message: string): string {
  const kept: string[] = [];
  for (const raw of message.slice(0, 20_000).split('\n')) {
    const line = raw.trimEnd();
    const bare = line.trim().replace(/^[*-] /, '');
    const isAddress = /^https?:\/\//i.test(bare) && !bare.includes(' ');
    if (isTrailer(line) || isAddress) continue;
    if (line === '' && (kept.length === 0 || kept.at(-1) === '')) continue;
    kept.push(withoutNumbers(line));
  }
  return kept.join('\n').trim().slice(0, 3000).trim();
}

const DOCS = new Set(['md', 'mdx', 'markdown', 'rst', 'txt', 'adoc', 'asciidoc', 'org', 'textile', 'tex', 'pod']);

/** Prose files without an extension. */
const PROSE_NAMES = new Set('readme changes changelog news history authors contributing todo license'.split(' '));

/** Names and extensions of generated files, which nobody reads to understand a change. */
const GENERATED_NAMES = new Set(
  `package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.yaml bun.lock cargo.lock poetry.lock uv.lock pdm.lock
  pipfile.lock composer.lock gemfile.lock go.sum flake.lock`.split(/\s+/),
);
const GENERATED_ENDINGS = ['.min.js', '.min.css', '.map', '.snap', '.svg', '.pb.go', '.po', '.pot'];

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1).toLowerCase();
}

/** Extension of a path without the dot, in lower case, or the whole name if there is none. */
function fileTypeOf(path: string): string {
  const name = nameOf(path);
  const dot = name.lastIndexOf('.');
  return dot > 0 ? name.slice(dot + 1) : name;
}

/** `prune_text` source type of a file. */
function sourceTypeOf(path: string): SourceType {
  const type = fileTypeOf(path);
  if (DOCS.has(type) || PROSE_NAMES.has(type)) return 'docs';
  return type === 'log' ? 'logs' : 'code';
}

/** Whether a file is generated: a lock file, a snapshot, minified code or similar. */
function isGenerated(path: string): boolean {
  const name = nameOf(path);
  return GENERATED_NAMES.has(name) || GENERATED_ENDINGS.some((ending) => name.endsWith(ending));
}

/** A case with a known answer: a text, a goal, and the lines that have to stay. */
export interface EvalCase {
  readonly id: string;
  readonly group: string;
  readonly path: string;
  readonly sourceType: SourceType;
  readonly goal: string;
  readonly text: string;
  /** 1-based, ascending, never empty. */
  readonly needed: readonly number[];
}

/** Why a commit or a file did not become a case. */
type SkipReason =
  | 'merge'
  | 'mass edit: too many files'
  | 'mass edit: over half of the lines'
  | 'formatting only'
  | 'no goal in the message'
  | 'no changed text file'
  | 'binary'
  | 'generated'
  | 'huge'
  | 'tiny';

interface SampleOptions {
  readonly cases: number;
  readonly seed: number;
  /** Commits that touch more paths are mass edits and skipped. */
  readonly maxFiles: number;
  /** Called before each commit with the number of cases and of examined commits so far. */
  readonly onProgress?: (made: number, commitsSeen: number) => void;
}

const MIN_CHARS = 4000;
const MIN_LINES = 60;
export const MAX_BYTES = 1_000_000;
const MAX_LINES = 20_000;
/** Maximum number of commits read from the history. */
const MAX_COMMITS = 200_000;
const BATCH = 48;

/** Population of a sample, and what was excluded. */
export class SampleReport {
  readonly skipped = new Map<SkipReason, number>();
  /** Commits in the examined history with exactly one parent. */
  commits = 0;
  commitsSeen = 0;
  commitsUsed = 0;

  skip(reason: SkipReason, count = 1): void {
    this.skipped.set(reason, (this.skipped.get(reason) ?? 0) + count);
  }
}

/** Lines covered by ranges on the old side of a diff. An insertion counts as the two lines around it. */
export function neededLines(ranges: readonly OldRange[], lineCount: number): number[] {
  const out = new Set<number>();
  for (const { start, count } of ranges) {
    const first = start;
    const last = count === 0 ? start + 1 : start + count - 1;
    for (let line = Math.max(1, first); line <= Math.min(lineCount, last); line++) out.add(line);
  }
  return [...out].sort((a, b) => a - b);
}

/** Decodes a blob; `null` if it is not text. A byte order mark is kept. */
export function decodeText(data: Buffer): string | null {
  if (data.subarray(0, 8000).includes(0)) return null;
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(data);
  } catch {
    return null; // not UTF-8, so an agent would not have read it unchanged
  }
}

/** Message of a raw commit object. */
function messageOf(answer: ObjectAnswer): string {
  if (!('data' in answer)) return '';
  const raw = answer.data.toString('utf8');
  const blank = raw.indexOf('\n\n');
  return blank < 0 ? '' : raw.slice(blank + 2);
}

function shuffled(commits: readonly string[], seed: number): string[] {
  const keyed = commits.map((id) => [createHash('sha1').update(`${seed}:${id}`).digest('hex'), id] as const);
  return keyed.sort((a, b) => (a[0] < b[0] ? -1 : 1)).map(([, id]) => id);
}

/** Creates a case from one changed file, or returns the reason for skipping it. */
async function caseOf(
  reader: ObjectReader,
  change: FileChange,
  ranges: readonly OldRange[] | undefined,
  goal: string,
  commit: string,
): Promise<EvalCase | SkipReason> {
  if (isGenerated(change.path)) return 'generated';
  const before = await reader.read(change.oldBlob);
  if (!('data' in before)) return 'huge';
  const text = decodeText(before.data);
  if (text === null) return 'binary';
  const { count } = splitLines(text);
  if (text.length < MIN_CHARS || count < MIN_LINES) return 'tiny';
  if (count > MAX_LINES) return 'huge';
  if (ranges === undefined) return 'binary';
  const after = await reader.read(change.newBlob);
  if (!('data' in after)) return 'huge';
  const strip = (s: string): string => s.replaceAll(/\s+/g, '');
  if (strip(text) === strip(after.data.toString('utf8'))) return 'formatting only';
  const needed = neededLines(ranges, count);
  if (needed.length === 0) return 'formatting only';
  if (needed.length > count / 2) return 'mass edit: over half of the lines';
  const { path } = change;
  return { id: `${commit}:${path}`, group: fileTypeOf(path), path, sourceType: sourceTypeOf(path), goal, text, needed };
}

/**
 * Draws cases from a repository's history: commits in an order determined by the seed, with every usable file, until
 * there are enough. Equal histories and options give equal cases.
 *
 * @throws UserError
 */
export async function* sampleCases(
  repo: Repository,
  options: SampleOptions,
  report: SampleReport,
): AsyncGenerator<EvalCase> {
  const { commits, merges } = await listCommits(repo, MAX_COMMITS);
  report.commits = commits.length;
  if (merges > 0) report.skip('merge', merges);
  const order = shuffled(commits, options.seed);
  const reader = new ObjectReader(repo, MAX_BYTES);
  let made = 0;
  try {
    for (let at = 0; at < order.length && made < options.cases; at += BATCH) {
      const batch = order.slice(at, at + BATCH);
      const changes = await listChanges(repo, batch);
      const modest = batch.filter((commit) => {
        const change = changes.get(commit);
        return change !== undefined && change.files.length > 0 && change.touched <= options.maxFiles;
      });
      const hunks = modest.length === 0 ? new Map<string, OldRange[]>() : await listHunks(repo, modest);
      for (const commit of batch) {
        if (made >= options.cases) break;
        report.commitsSeen++;
        options.onProgress?.(made, report.commitsSeen);
        const change = changes.get(commit);
        if (change === undefined || change.files.length === 0) {
          report.skip('no changed text file');
          continue;
        }
        if (change.touched > options.maxFiles) {
          report.skip('mass edit: too many files');
          continue;
        }
        const goal = goalFromMessage(messageOf(await reader.read(commit)));
        if (new Set(terms(goal)).size < 2) {
          report.skip('no goal in the message');
          continue;
        }
        let used = false;
        for (const file of change.files) {
          if (made >= options.cases) break;
          const result = await caseOf(reader, file, hunks.get(`${commit} ${file.oldBlob}`), goal, commit);
          if (typeof result === 'string') {
            report.skip(result);
            continue;
          }
          used = true;
          made++;
          yield result;
        }
        if (used) report.commitsUsed++;
      }
    }
  } finally {
    reader.close();
  }
}
