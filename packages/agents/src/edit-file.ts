import { createHash } from 'node:crypto';
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { errorCode } from 'mcp-pruner/base/causes.ts';
import { UserError } from 'mcp-pruner/errors/errors.ts';
import type { Edit } from './clients/client.ts';
import { applyEdit, removeEdit, valuesOf, withOnly, withValue } from './edit-text.ts';

export interface EditOutcome {
  readonly file: string;
  readonly outcome: 'written' | 'unchanged' | 'restored' | 'removed' | 'taken out' | 'nothing to undo';
  /** The edit of the file that this is about, if it is set up separately. */
  readonly feature?: Edit['feature'];
  readonly backup?: string;
}

interface Planned {
  readonly outcome: EditOutcome;
  readonly make: () => void;
}

/** A backup of a file, named after the content that replaced it. */
interface Backup {
  readonly path: string;
  /** `null` if there was no file. */
  readonly bytes: Buffer | null;
  /** Beginning of the hash of the written content. */
  readonly writtenHash: string;
  /** Number of folders created for the file. */
  readonly madeFolders: number;
}

/** Contents of a file before a change, for restoring it if the change fails. */
interface Before {
  readonly path: string;
  readonly bytes: Buffer | null;
  readonly mode: number;
}

/** Infix between file name and hash in the name of a backup. */
function infixOf({ feature }: Pick<Edit, 'feature'>): string {
  return `.before-mcp-pruner${feature === undefined ? '' : `.${feature}`}-`;
}
const NO_FILE = '.none';
/** Mode of new files, and of files that contain a token. */
const PRIVATE_MODE = 0o600;
/** Maximum length of a chain of symbolic links, as on Linux. */
const MAX_LINKS = 40;

/**
 * Applies edits, all or none, and keeps a backup next to each file. A second edit keeps the first backup, unless the
 * user has changed the file in between.
 *
 * @throws UserError and the errors of the file system; every file is then as it was
 */
export function writeEdits(edits: readonly Edit[]): EditOutcome[] {
  const plans = edits.map(planWrite);
  return allOrNone(edits, () => plans.map(made));
}

/**
 * Undoes edits, all or none. An unchanged file is restored byte for byte; otherwise only the edited parts are removed.
 * Of several edits of one file, the one written last is undone first, in whichever order they were set up.
 *
 * @throws UserError and the errors of the file system; every file is then as it was
 */
export function undoEdits(edits: readonly Edit[]): EditOutcome[] {
  const left = edits.toReversed();
  const undoNext = (): EditOutcome => {
    const [edit] = left.splice(Math.max(0, left.findIndex(isWrittenLast)), 1);
    if (edit === undefined) throw new Error('no edit is left to undo');
    return made(planUndo(edit));
  };
  return allOrNone(edits, () => Array.from(edits, undoNext));
}

/** Whether the file is as this edit left it. */
function isWrittenLast(edit: Edit): boolean {
  const file = realFile(edit.file);
  const current = readBytes(file);
  return current !== null && findBackup(file, infixOf(edit))?.writtenHash === hashOf(current);
}

function made({ make, outcome }: Planned): EditOutcome {
  make();
  return outcome;
}

function allOrNone(edits: readonly Edit[], work: () => EditOutcome[]): EditOutcome[] {
  const places = edits.map((edit) => ({ file: realFile(edit.file), infix: infixOf(edit) }));
  const before = places.flatMap(({ file, infix }) => [file, ...siblings(file, infix)].map(snapshot));
  try {
    return work();
  } catch (cause) {
    const known = new Set(before.map(({ path }) => path));
    for (const { file, infix } of places) {
      for (const path of siblings(file, infix)) if (!known.has(path)) rmSync(path, { force: true });
    }
    for (const { path, bytes, mode } of before) restore(path, bytes, mode);
    throw cause;
  }
}

/** Restores only changed files, because a file that could not be written cannot be restored either. */
function restore(path: string, bytes: Buffer | null, mode: number): void {
  const now = readBytes(path);
  if (bytes === null) rmSync(path, { force: true });
  else if (!now?.equals(bytes) || modeOf(path) !== mode) replaceFile(path, bytes, mode);
}

function snapshot(path: string): Before {
  return { path, bytes: readBytes(path), mode: modeOf(path) };
}

function planWrite(edit: Edit): Planned {
  const file = realFile(edit.file);
  const current = readBytes(file);
  const infix = infixOf(edit);
  const earlier = findBackup(file, infix);
  const base = baseOf(current, earlier, edit);
  const next = Buffer.from(applyEdit(textOf(base, file), edit));
  const mode = edit.secret ? PRIVATE_MODE : modeOf(file);
  if (current?.equals(next) && modeOf(file) === mode) {
    return { outcome: { file, outcome: 'unchanged', feature: edit.feature, backup: earlier?.path }, make: () => {} };
  }
  const folders = base === null ? (earlier?.madeFolders ?? missingFolders(dirname(file))) : 0;
  const backup = `${file}${infix}${hashOf(next)}${base === null ? `${NO_FILE}${folders || ''}` : ''}`;
  const make = (): void => {
    mkdirSync(dirname(file), { recursive: true });
    replaceFile(backup, base ?? Buffer.alloc(0), earlier === null ? modeOf(file) : modeOf(earlier.path));
    replaceFile(file, next, mode);
    if (earlier !== null && earlier.path !== backup) rmSync(earlier.path);
  };
  return { outcome: { file, outcome: 'written', feature: edit.feature, backup }, make };
}

function planUndo(edit: Edit): Planned {
  const file = realFile(edit.file);
  const current = readBytes(file);
  const infix = infixOf(edit);
  const backup = findBackup(file, infix);
  if (backup === null || current === null)
    return { outcome: { file, outcome: 'nothing to undo', feature: edit.feature }, make: () => {} };
  const touched = hashOf(current) !== backup.writtenHash;
  const next = touched ? takenOut(current, backup, stillOurs(current, backup, edit, file), file) : backup.bytes;
  const make = (): void => {
    if (next === null) rmSync(file);
    else replaceFile(file, next, modeOf(backup.path));
    rmSync(backup.path);
    if (next === null) removeEmptyFolders(dirname(file), backup.madeFolders);
  };
  const outcome = touched ? 'taken out' : next === null ? 'removed' : 'restored';
  return { outcome: { file, outcome, feature: edit.feature }, make };
}

/** The text to edit: the file without the parts that an earlier edit added. */
function baseOf(current: Buffer | null, earlier: Backup | null, edit: Edit): Buffer | null {
  if (current === null || earlier === null) return current;
  return hashOf(current) === earlier.writtenHash ? earlier.bytes : takenOut(current, earlier, edit, edit.file);
}

function takenOut(current: Buffer, { bytes }: Backup, edit: Edit, file: string): Buffer {
  return Buffer.from(removeEdit(textOf(current, file) ?? '', textOf(bytes, file), edit));
}

/**
 * An edit without the values that the user has changed since. The undo of a length does not know which one was written,
 * but the name of the backup has the hash of the file with it.
 */
function stillOurs(current: Buffer, { bytes, writtenHash }: Backup, edit: Edit, file: string): Edit {
  if (edit.feature !== 'compaction') return edit;
  const before = textOf(bytes, file);
  const values = valuesOf(textOf(current, file) ?? '', edit);
  const written = values.find(
    (value) => value !== null && hashOf(Buffer.from(applyEdit(before, withValue(edit, value, before)))) === writtenHash,
  );
  return withOnly(edit, (i) => written !== undefined && values[i] === written);
}

/** Decodes a file; refuses if encoding would not give the same bytes again. */
function textOf(bytes: Buffer | null, file: string): string | null {
  if (bytes === null) return null;
  const text = bytes.toString('utf8');
  if (Buffer.from(text).equals(bytes)) return text;
  throw new UserError(`${file} is not UTF-8: save it as UTF-8, or add the lines by hand`);
}

function findBackup(file: string, infix: string): Backup | null {
  const [path] = siblings(file, infix);
  if (path === undefined) return null;
  const [writtenHash = '', made] = basename(path)
    .slice(basename(file).length + infix.length)
    .split(NO_FILE);
  const absent = made !== undefined;
  return { path, bytes: absent ? null : readFileSync(path), writtenHash, madeFolders: Number(made ?? 0) };
}

function siblings(file: string, infix: string): string[] {
  const prefix = `${basename(file)}${infix}`;
  try {
    const names = readdirSync(dirname(file)).filter((name) => name.startsWith(prefix) && !name.endsWith('.new'));
    return names.map((name) => join(dirname(file), name));
  } catch {
    return []; // the folder does not exist yet
  }
}

/** Resolves symbolic links, even to missing files, because many users keep such files elsewhere. */
function realFile(file: string): string {
  let at = file;
  for (let links = 0; links < MAX_LINKS; links++) {
    const target = linkTarget(at);
    if (target === null) return at;
    at = resolve(dirname(at), target);
  }
  throw new UserError(`${file} is a symbolic link in a loop: remove it first`);
}

function linkTarget(path: string): string | null {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() ? readlinkSync(path) : null;
}

function readBytes(file: string): Buffer | null {
  try {
    return readFileSync(file);
  } catch (cause) {
    if (errorCode(cause) === 'ENOENT') return null;
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

/** Replaces a file atomically: concurrent readers see either the old or the new content. */
function replaceFile(file: string, bytes: Buffer, mode: number): void {
  const next = `${file}.new`;
  rmSync(next, { force: true });
  writeFileSync(next, bytes, { mode, flag: 'wx' });
  chmodSync(next, mode); // sets the mode regardless of the umask
  renameSync(next, file);
}

function missingFolders(folder: string): number {
  const parent = dirname(folder);
  if (parent === folder || statSync(folder, { throwIfNoEntry: false }) !== undefined) return 0;
  return 1 + missingFolders(parent);
}

/** Removes the folders that were created for the file, if they are empty. */
function removeEmptyFolders(folder: string, count: number): void {
  if (count === 0) return;
  try {
    rmdirSync(folder);
  } catch {
    return; // the folder is in use
  }
  removeEmptyFolders(dirname(folder), count - 1);
}

function hashOf(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex').slice(0, 16);
}
