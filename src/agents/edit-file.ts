import { createHash } from 'node:crypto';
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Edit } from './clients/client.ts';
import { applyEdit, removeEdit } from './edit-text.ts';

/** What became of a file. */
export interface EditOutcome {
  readonly file: string;
  readonly outcome: 'written' | 'unchanged' | 'restored' | 'removed' | 'taken out' | 'nothing to undo';
  /** Where the file stands as it was before. */
  readonly backup?: string;
}

/** A copy of a file as it was, named after what was written in its place. */
interface Backup {
  readonly path: string;
  /** `null` when there was no file. */
  readonly text: string | null;
  /** Beginning of the hash of the text that was written then. */
  readonly writtenHash: string;
}

const INFIX = '.before-mcp-pruner-';
const NO_FILE = '.none';
/** For files that are new: their values may be private. */
const PRIVATE_MODE = 0o600;

/**
 * Makes an edit and keeps the file as it was beside it. A second edit keeps the first backup, unless the user has
 * changed the file in between.
 *
 * @throws EditRefused and the errors of the file system; the file is then as it was
 */
export function writeEdit(edit: Edit): EditOutcome {
  const file = realFile(edit.file);
  const current = readText(file);
  const earlier = findBackup(file);
  const base = baseOf(current, earlier, edit);
  const next = applyEdit(base, edit);
  if (next === current) return { file, outcome: 'unchanged', ...(earlier && { backup: earlier.path }) };

  const mode = modeOf(file);
  mkdirSync(dirname(file), { recursive: true });
  const backup = `${file}${INFIX}${hashOf(next)}${base === null ? NO_FILE : ''}`;
  replaceFile(backup, base ?? '', mode);
  replaceFile(file, next, mode);
  if (earlier !== null && earlier.path !== backup) rmSync(earlier.path);
  return { file, outcome: 'written', backup };
}

/**
 * Takes an edit back: the file is restored byte for byte if nobody changed it since, and otherwise loses what the edit
 * put there and keeps the rest.
 *
 * @throws EditRefused and the errors of the file system; the file is then as it was
 */
export function undoEdit(edit: Edit): EditOutcome {
  const file = realFile(edit.file);
  const current = readText(file);
  const backup = findBackup(file);
  if (backup === null || current === null) return { file, outcome: 'nothing to undo' };
  const touched = hashOf(current) !== backup.writtenHash;
  const next = touched ? removeEdit(current, backup.text, edit) : backup.text;
  if (next === null) rmSync(file);
  else replaceFile(file, next, modeOf(file));
  rmSync(backup.path);
  return { file, outcome: touched ? 'taken out' : next === null ? 'removed' : 'restored' };
}

/** The text that the edit is to be made on: the file without what an earlier one put there. */
function baseOf(current: string | null, earlier: Backup | null, edit: Edit): string | null {
  if (current === null || earlier === null) return current;
  return hashOf(current) === earlier.writtenHash ? earlier.text : removeEdit(current, earlier.text, edit);
}

function findBackup(file: string): Backup | null {
  const prefix = `${basename(file)}${INFIX}`;
  let names: string[];
  try {
    names = readdirSync(dirname(file));
  } catch {
    return null; // no such folder yet
  }
  const name = names.find((one) => one.startsWith(prefix));
  if (name === undefined) return null;
  const path = join(dirname(file), name);
  const absent = name.endsWith(NO_FILE);
  const writtenHash = name.slice(prefix.length).replace(NO_FILE, '');
  return { path, text: absent ? null : readFileSync(path, 'utf8'), writtenHash };
}

/** Where a link leads; many keep such files elsewhere. */
function realFile(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    return file;
  }
}

function readText(file: string): string | null {
  try {
    return readFileSync(file, 'utf8');
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') return null;
    throw cause;
  }
}

function modeOf(file: string): number {
  try {
    return statSync(file).mode & 0o777;
  } catch {
    return PRIVATE_MODE;
  }
}

/** Whoever reads the file meanwhile sees the old one or the new one, and never half of it. */
function replaceFile(file: string, text: string, mode: number): void {
  const next = `${file}.new`;
  writeFileSync(next, text, { mode });
  renameSync(next, file);
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}
