import { createHash, randomBytes } from 'node:crypto';

const PREFIX = 'mpk_';
const BYTES = 32;
const FORM = /^mpk_[A-Za-z0-9_-]{43}$/;
const ID_BYTES = 9;

/** What stands for all projects in the place of a name. */
export const ALL_PROJECTS = '*';

/** A new key: `mpk_` and 43 characters base64url, of 256 random bits. */
export function newKeyText(): string {
  return PREFIX + randomBytes(BYTES).toString('base64url');
}

/** A new id: `key_` and 12 characters. */
export function newKeyId(): string {
  return `key_${randomBytes(ID_BYTES).toString('base64url')}`;
}

/**
 * What a key is stored and found under: SHA-256, 64 hex digits. Nothing else is ever compared with what a client shows, so
 * that the time it takes says nothing of how near a guess came: the hash of a near one is as far away as that of any other.
 */
export function hashOfKey(text: string): string {
  return createHash('sha256').update(text, 'utf8').digest('hex');
}

/** Whether a text looks like a key; one that does not need not be looked up. */
export function isKeyText(text: string): boolean {
  return FORM.test(text);
}
