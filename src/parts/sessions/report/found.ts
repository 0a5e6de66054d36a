import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Session } from '../readers/recorded.ts';

/** A file in which an agent keeps a session. */
export interface SessionFile {
  readonly agent: string;
  readonly path: string;
  /** When it was written last. */
  readonly atMs: number;
  /** @param onRead - called with how much of the file was read, from 0 to 1 */
  read(onRead: (share: number) => void): Promise<Session>;
}

/** A session where an agent keeps it. */
export type FoundSession = Pick<SessionFile, 'path' | 'read'> & {
  /** When it was written last, where its path does not say. */
  readonly atMs?: number;
};

const MAX_FILES = 20_000;

/** Files below a folder whose names end so; none where there is no such folder. */
export function filesBelow(folder: string, ending: string): string[] {
  try {
    return readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith(ending))
      .slice(0, MAX_FILES)
      .map((name) => join(folder, name));
  } catch {
    return []; // this agent is not used here
  }
}
