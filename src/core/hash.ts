import { createHash, hash } from 'node:crypto';
import type { ScannedMessage } from '../wires/dialects/dialect.ts';

const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

function hex32(data: string | Uint8Array): string {
  return hash('sha256', data, 'hex').slice(0, 32);
}

/** Hash of a text over its UTF-16 units (lone surrogates included), as 32 hex digits. */
export function textHash(text: string): string {
  // UTF-8 encodes all lone surrogates alike, so two different texts would get the same hash.
  const bytes = text.isWellFormed() ? text : Buffer.concat([Buffer.from('utf16le\0'), Buffer.from(text, 'utf16le')]);
  return hex32(bytes);
}

/** Hash of several strings as 32 hex digits; injective on lists of strings before hashing. */
export function keyOf(...parts: readonly string[]): string {
  return hex32(JSON.stringify(parts));
}

/** Hash of several pieces of bytes, 32 hex digits. */
export function bytesHash(pieces: readonly Uint8Array[]): string {
  const whole = createHash('sha256');
  for (const piece of pieces) whole.update(`${piece.length}\0`).update(piece);
  return whole.digest('hex').slice(0, 32);
}

/** Hash of a list of numbers, 32 hex digits. */
export function numbersHash(numbers: Float64Array): string {
  return hex32(new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength));
}

/** `prn_` + 12 base-32 characters (60 bits), derived from a decision's key so that it never changes. */
export function pruneIdOf(key: string): string {
  return `prn_${base32(`prune_id\0${key}`)}`;
}

/**
 * Id of a text in a conversation: `seg_` + 12 base-32 characters.
 *
 * @param role - `user`, `assistant`, `tool`, or `file` for a file in a message
 * @param source - the call's id, or a file's path; `''` for plain words
 * @param hash - `textHash` of the text
 */
export function segmentIdOf(role: string, source: string, hash: string): string {
  return `seg_${base32(`segment_id\0${JSON.stringify([role, source, hash])}`)}`;
}

/** 12 base-32 characters (60 bits) from the SHA-256 of a text: the low five bits of each of its first 12 bytes. */
function base32(text: string): string {
  const digest = hash('sha256', text, 'buffer');
  let id = '';
  for (let i = 0; i < 12; i++) id += ALPHABET.charAt((digest[i] ?? 0) & 31);
  return id;
}

/** Matches every prune id that this product derives. */
const PRUNE_ID = /^prn_[0-9A-HJKMNP-TV-Z]{12}$/;
const PRUNE_ID_LENGTH = 16;

/**
 * Fingerprint that ignores volatile values: every alphanumeric run with a digit (number, time, id, address) counts as
 * the same token.
 */
export function fingerprint(text: string): string {
  let a = 0x811c9dc5;
  let b = 0x1b873593;
  for (let i = 0; i < text.length; ) {
    let code = text.charCodeAt(i);
    let end = i;
    let digit = false;
    while (isWordChar(code)) {
      if (code < 58) digit = true;
      code = text.charCodeAt(++end);
    }
    if (end > i && digit) {
      a = Math.imul(a ^ 1, 0x01000193);
      b = Math.imul(b ^ 1, 0x5bd1e995) ^ (b >>> 13);
      i = end;
      continue;
    }
    for (const stop = Math.max(end, i + 1); i < stop; i++) {
      const unit = text.charCodeAt(i);
      a = Math.imul(a ^ unit, 0x01000193);
      b = Math.imul(b ^ unit, 0x5bd1e995) ^ (b >>> 13);
    }
  }
  return `${(a >>> 0).toString(16)}-${(b >>> 0).toString(16)}`;
}

function isWordChar(code: number): boolean {
  return (code >= 48 && code <= 57) || (code >= 65 && code <= 90) || (code >= 97 && code <= 122);
}

/** Distinct prune ids in a text's markers, in order, at most `limit`. */
export function pruneIdsIn(text: string, limit = 256): string[] {
  const ids = new Set<string>();
  const needle = 'prune_id=';
  for (let at = text.indexOf(needle); at >= 0 && ids.size < limit; at = text.indexOf(needle, at + needle.length)) {
    const id = text.slice(at + needle.length, at + needle.length + PRUNE_ID_LENGTH);
    if (PRUNE_ID.test(id)) ids.add(id);
  }
  return [...ids];
}

/**
 * Identifies a message by its role, the raw bytes of its texts, and the ids of its calls, which clients repeat in every
 * turn. Cache breakpoints, pictures, reasoning and call arguments are ignored: messages that differ only in these are
 * cut in the same way.
 */
export function meaningOf(body: Buffer, { role, texts, calls }: ScannedMessage): string {
  const hash = createHash('sha256').update(role);
  for (const { use, callId, literal } of texts) {
    hash.update(`\0${use}\0${callId}\0`).update(body.subarray(literal.start, literal.end));
  }
  for (const { id, name } of calls) hash.update(`\0call\0${id}\0${name}`);
  return hash.digest('hex').slice(0, 32);
}
