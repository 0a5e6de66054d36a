import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { ClaudeSession } from './claude.ts';
import { CodexSession } from './codex.ts';
import { linesOf } from './lines.ts';
import type { Session, SessionReader } from './recorded.ts';

/** A file in which an agent keeps a session. */
export interface SessionFile {
  readonly agent: string;
  readonly path: string;
  /** When it was written last. */
  readonly atMs: number;
  /** @param onRead - called with how much of the file was read, from 0 to 1 */
  read(onRead: (share: number) => void): Promise<Session>;
}

/** An agent, the folder of its sessions below the user's home, and how they are found there. */
export interface SessionPlace {
  readonly agent: string;
  readonly folder: string;
  files(folder: string): readonly Omit<SessionFile, 'agent' | 'atMs'>[];
}

const MAX_FILES = 20_000;

/** Places of sessions that are kept as lines of JSON. */
export const PLACES: readonly SessionPlace[] = [
  {
    agent: 'Claude Code',
    folder: '.claude/projects',
    files: (folder) => jsonLines(folder, '.jsonl', () => new ClaudeSession()),
  },
  {
    agent: 'Codex',
    folder: '.codex/sessions',
    files: (folder) => jsonLines(folder, '.jsonl', () => new CodexSession()),
  },
];

/** The session files of a machine that were written since then, oldest first. */
export function sessionFiles(homeDir: string, sinceMs: number): SessionFile[] {
  return PLACES.flatMap(({ agent, folder, files }) =>
    files(join(homeDir, folder)).map((file) => ({
      ...file,
      agent,
      atMs: statSync(file.path, { throwIfNoEntry: false })?.mtimeMs ?? 0,
    })),
  )
    .filter(({ atMs }) => atMs >= sinceMs)
    .sort((a, b) => a.atMs - b.atMs || (a.path < b.path ? -1 : 1));
}

/** Files below a folder whose names end so; none where there is no such folder. */
function filesBelow(folder: string, ending: string): string[] {
  try {
    return readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith(ending))
      .slice(0, MAX_FILES)
      .map((name) => join(folder, name));
  } catch {
    return []; // this agent is not used here
  }
}

function jsonLines(folder: string, ending: string, open: () => SessionReader): Omit<SessionFile, 'agent' | 'atMs'>[] {
  return filesBelow(folder, ending).map((path) => ({
    path,
    async read(onRead) {
      const size = Math.max(1, statSync(path).size);
      const reader = open();
      for await (const line of linesOf(path, (bytes) => onRead(Math.min(1, bytes / size)))) reader.line(line);
      return reader.end();
    },
  }));
}
