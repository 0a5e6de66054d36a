import { type ChildProcessByStdio, spawn } from 'node:child_process';
import type { Readable, Writable } from 'node:stream';
import { UserError } from 'mcp-pruner/errors/errors.ts';

/** A git repository, bare or with a work tree. */
export interface Repository {
  readonly path: string;
  /** Object id of the newest commit. */
  readonly head: string;
}

/** A file that a commit changed in place (same path before and after). */
export interface FileChange {
  readonly path: string;
  readonly oldBlob: string;
  readonly newBlob: string;
}

/**
 * The range of a change on the old side of a file: `count` lines from line `start` on, or an insertion after `start`.
 */
export interface OldRange {
  readonly start: number;
  readonly count: number;
}

/** A child process without output for this long is killed. */
export const SILENCE_MS = 120_000;

/** Options that prevent repository and user configuration from running programs or using the network. */
const SAFE = [
  '--no-pager',
  '-c',
  'core.fsmonitor=false',
  '-c',
  'core.bigFileThreshold=2m',
  '-c',
  'core.quotePath=false',
];

/** A git process with all three streams. */
export type GitChild = ChildProcessByStdio<Writable, Readable, Readable>;

/** Starts git in a repository; the caller ends it. */
export function startGit(path: string, args: readonly string[]): GitChild {
  return spawn('git', [...SAFE, '-C', path, ...args], { stdio: ['pipe', 'pipe', 'pipe'] });
}

/** Failure reason from a child's stderr: the line with `fatal`, or else the last line. */
export function failureReasonOf(child: GitChild): () => string {
  let tail = '';
  child.stderr.setEncoding('utf8');
  child.stderr.on('data', (chunk: string) => {
    tail = (tail + chunk).slice(-2000);
  });
  child.stderr.on('error', () => {});
  return () => {
    const lines = tail.trim().split('\n');
    return lines.find((line) => line.startsWith('fatal:')) ?? lines.at(-1) ?? '';
  };
}

/**
 * Runs git and streams its output line by line (without LF). Lines are truncated to 4,096 characters, since only ids,
 * names and hunk headers are read.
 *
 * @throws UserError if git is missing, fails, or stops producing output
 */
async function* gitLines(path: string, args: readonly string[], input = '', separator = '\n'): AsyncGenerator<string> {
  const child = startGit(path, args);
  const failureReason = failureReasonOf(child);
  const ended = new Promise<number | Error>((resolve) => {
    child.once('error', resolve);
    child.once('close', (code) => resolve(code ?? 1));
  });
  child.stdin.on('error', () => {}); // git may exit before it has read everything; its exit code decides
  child.stdin.end(input);
  let silent = false;
  const giveUp = (): void => {
    silent = true;
    child.kill('SIGKILL');
  };
  let timer = setTimeout(giveUp, SILENCE_MS);
  try {
    child.stdout.setEncoding('utf8');
    let rest = '';
    for await (const chunk of child.stdout as AsyncIterable<string>) {
      clearTimeout(timer);
      timer = setTimeout(giveUp, SILENCE_MS);
      let at = 0;
      for (let end = chunk.indexOf(separator); end >= 0; end = chunk.indexOf(separator, at)) {
        yield (rest + chunk.slice(at, Math.min(end, at + 4096))).slice(0, 4096);
        rest = '';
        at = end + 1;
      }
      if (rest.length < 4096) rest += chunk.slice(at, at + 4096);
    }
    if (rest !== '') yield rest;
    const code = await ended;
    if (code instanceof Error) throw new UserError(`cannot run git: ${code.message}`);
    if (silent) throw new UserError(`git ${args[0]} gave no answer for ${SILENCE_MS / 1000} s`);
    if (code !== 0) throw new UserError(failureReason() || `git ${args[0]} failed with exit code ${code}`);
  } finally {
    clearTimeout(timer);
    child.kill('SIGKILL');
  }
}

async function firstLine(path: string, args: readonly string[]): Promise<string> {
  let first = '';
  for await (const line of gitLines(path, args)) first ||= line;
  return first;
}

/**
 * Finds the repository at a path.
 *
 * @throws UserError if there is none, or it has no commit
 */
export async function openRepository(path: string): Promise<Repository> {
  try {
    await firstLine(path, ['rev-parse', '--git-dir']);
  } catch (cause) {
    // git reports a missing folder as one it "cannot change to"; other messages are passed on unchanged
    const plain = cause instanceof UserError && /not a git repository|cannot change to/.test(cause.message);
    throw plain ? new UserError(`not a git repository: ${path}`, { cause }) : cause;
  }
  const head = await firstLine(path, ['rev-parse', '--verify', '--quiet', 'HEAD^{commit}']).catch(() => ''); // an error is reported below
  if (head === '') throw new UserError(`the repository has no commit: ${path}`);
  return { path, head };
}

/** The newest `limit` commits: those with exactly one parent, and the number of merges. */
export async function listCommits(repo: Repository, limit: number): Promise<{ commits: string[]; merges: number }> {
  const commits: string[] = [];
  let merges = 0;
  for await (const line of gitLines(repo.path, ['rev-list', '--parents', `--max-count=${limit}`, repo.head])) {
    const ids = line.split(' ');
    if (ids.length > 2) merges++;
    else if (ids.length === 2 && ids[0] !== undefined) commits.push(ids[0]);
  }
  return { commits, merges };
}

const DIFF = ['diff-tree', '--stdin', '-r', '--no-renames', '--no-ext-diff', '--no-textconv', '--no-color'];

/** Regular files changed in place by each commit, and the number of all touched paths. */
export async function listChanges(
  repo: Repository,
  commits: readonly string[],
): Promise<Map<string, { touched: number; files: FileChange[] }>> {
  const out = new Map<string, { touched: number; files: FileChange[] }>();
  let current: { touched: number; files: FileChange[] } | undefined;
  let entry: string[] | undefined;
  const input = `${commits.join('\n')}\n`;
  // With -z, a record is ":modes ids status" NUL "path" NUL, and the commit's id is a record by itself.
  for await (const field of gitLines(repo.path, [...DIFF, '--raw', '--no-abbrev', '-z'], input, '\0')) {
    if (entry !== undefined) {
      const [oldMode = '', newMode = '', oldBlob = '', newBlob = '', status] = entry;
      const regular = oldMode.startsWith(':100') && newMode.startsWith('100');
      if (status === 'M' && regular) current?.files.push({ path: field, oldBlob, newBlob });
      entry = undefined;
    } else if (field.startsWith(':')) {
      entry = field.split(' ');
      if (current) current.touched++;
    } else {
      current = { touched: 0, files: [] };
      out.set(field, current);
    }
  }
  return out;
}

/** Parses `@@ -start,count +…`; a missing count is 1. */
function parseHunk(line: string): OldRange | null {
  const [, start, count] = /^@@ -(\d+)(?:,(\d+))? \+/.exec(line) ?? [];
  return start === undefined ? null : { start: Number(start), count: count === undefined ? 1 : Number(count) };
}

/**
 * Changed ranges of files, keyed by `<commit> <old blob id>` because paths may be quoted. Binary files have no entry.
 */
export async function listHunks(repo: Repository, commits: readonly string[]): Promise<Map<string, OldRange[]>> {
  const out = new Map<string, OldRange[]>();
  let hunks: OldRange[] = [];
  let commit = '';
  const input = `${commits.join('\n')}\n`;
  // Without context lines, every line of a hunk begins with + - or \, so headers are unambiguous.
  for await (const line of gitLines(repo.path, [...DIFF, '-p', '-U0', '--full-index', '--histogram'], input)) {
    if (line.startsWith('@@ ')) {
      const range = parseHunk(line);
      if (range) hunks.push(range);
    } else if (line.startsWith('index ')) {
      hunks = [];
      out.set(`${commit} ${line.slice(6).split('..')[0]}`, hunks);
    } else if (/^[0-9a-f]{40,64}$/.test(line)) {
      commit = line;
    }
  }
  return out;
}
