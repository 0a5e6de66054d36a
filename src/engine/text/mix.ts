/** An odd constant with evenly spread bits, from the final step of common hash functions. */
const SCATTER = 0x2c1b3c6d;

/**
 * The final step of a hash: mixes higher bits into lower ones, and never returns 0, which marks empty slots in tables.
 */
export function mixed(sum: number): number {
  let hash = sum ^ (sum >>> 15);
  hash = Math.imul(hash, SCATTER);
  hash ^= hash >>> 12;
  return hash === 0 ? 1 : hash;
}
