import { createHash, randomBytes } from 'node:crypto';

const PREFIX = 'mpk_';
const BYTES = 32;
const KEY_PATTERN = /^mpk_[A-Za-z0-9_-]{43}$/;
const ID_BYTES = 9;

/** The project name that means all projects. */
export const ALL_PROJECTS = '*';

/** Creates a key: `mpk_` and 43 base64url characters, from 256 random bits. */
export function newKeyText(): string {
  return PREFIX + randomBytes(BYTES).toString('base64url');
}

/** Creates an id: `key_` and 12 characters. */
export function newKeyId(): string {
  return `key_${randomBytes(ID_BYTES).toString('base64url')}`;
}

/**
 * Hash of a key: SHA-256, 64 hex digits. Client input is compared only by hash, so that the comparison's timing reveals
 * nothing about a guess.
 */
export function hashOfKey(text: string): string {
  return createHash('sha256').update(text, 'utf8').digest('hex');
}

/** Whether a text has the form of a key, so that a look-up is needed. */
export function isKeyText(text: string): boolean {
  return KEY_PATTERN.test(text);
}
