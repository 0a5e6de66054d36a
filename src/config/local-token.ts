import { randomBytes } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fstatSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { errorCode } from '../base/causes.ts';
import { absolutePath, dataFolder, type Place } from './paths.ts';
import type { Settings } from './settings.ts';
import { SettingsError } from './settings-error.ts';

/** Visible ASCII characters, too many to guess. */
const TOKEN = /^[\x21-\x7e]{32,512}$/;
const FILE_NAME = 'local-token';

export function localTokenFile(place: Place, { dbPath }: Pick<Settings, 'dbPath'>): string {
  return absolutePath(place, FILE_NAME, dataFolder(place, dbPath));
}

/**
 * Reads the token from the file, for clients of `/rpc`, `/prune` and `/metrics`. They send it as `Authorization: Bearer
 * <token>` or, if they cannot set a header, call `/rpc?token=<token>`.
 *
 * @returns `null` without a file or a valid token in it
 * @throws SettingsError if other users can read the file and thus the token
 */
export function readLocalToken(file: string): string | null {
  let fd: number;
  try {
    fd = openSync(file, 'r');
  } catch {
    return null;
  }
  try {
    const status = fstatSync(fd);
    if (!status.isFile()) return null;
    refuseShared(file, status);
    const text = readFileSync(fd, 'utf8').trim();
    return TOKEN.test(text) ? text : null;
  } finally {
    closeSync(fd);
  }
}

/**
 * Reads the token from the file, or creates one. Concurrent processes agree on one token.
 *
 * @throws SettingsError
 */
export function makeLocalToken(file: string): string {
  const known = readLocalToken(file);
  if (known !== null) return known;
  const draft = `${file}.${process.pid}.${randomBytes(4).toString('hex')}`;
  try {
    makeFolder(dirname(file));
    writeFileSync(draft, `${randomBytes(32).toString('base64url')}\n`, { mode: 0o600, flag: 'wx' });
    putInPlace(draft, file);
  } catch (cause) {
    throw refusal(`cannot make the token file ${file}: ${errorCode(cause) || String(cause)}`);
  }
  const token = readLocalToken(file);
  if (token === null) throw refusal(`cannot read the token file ${file} that was just made`);
  return token;
}

/**
 * The token that a server requires: the configured one; else, with `MCP_PRUNER_LOCAL_TOKEN=auto`, the token of the
 * file, created if necessary; else `null`. Pass it to the server as `authToken`.
 *
 * @throws SettingsError
 */
export function serverToken(
  place: Place,
  settings: Pick<Settings, 'authToken' | 'localToken' | 'dbPath'>,
): string | null {
  if (settings.authToken !== null || settings.localToken === 'off') return settings.authToken;
  return makeLocalToken(localTokenFile(place, settings));
}

/**
 * The first process to link the file wins. If linking fails, or the existing file has no token, the last rename wins.
 */
function putInPlace(draft: string, file: string): void {
  try {
    linkSync(draft, file);
  } catch (cause) {
    if (errorCode(cause) !== 'EEXIST' || readLocalToken(file) === null) renameSync(draft, file);
  } finally {
    rmSync(draft, { force: true });
  }
}

/** Avoids Node's recursive `mkdir`, which retries forever on file systems without folder creation (`/proc`). */
function makeFolder(path: string): void {
  if (existsSync(path)) return;
  makeFolder(dirname(path));
  mkdirSync(path, { mode: 0o700 });
}

function refuseShared(file: string, { mode, uid }: { readonly mode: number; readonly uid: number }): void {
  const own = process.getuid?.();
  if (own === undefined) return; // Windows: the folder in the user's profile is private
  if (uid !== own && own !== 0) throw refusal(`the token file ${file} belongs to another user: remove it`);
  if ((mode & 0o077) !== 0) {
    throw refusal(`the token file ${file} can be read by others: remove it, a new one is made`);
  }
}

function refusal(why: string): SettingsError {
  return new SettingsError([`MCP_PRUNER_LOCAL_TOKEN: ${why}`]);
}
