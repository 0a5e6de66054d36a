/** An odd number with bits all over, from the finishing steps of hashes that are in common use. */
const SCATTER = 0x2c1b3c6d;

/** The last step of a hash: every bit comes to depend on those above it, and 0 is left to mark empty slots in tables. */
export function mixed(sum: number): number {
  let hash = sum ^ (sum >>> 15);
  hash = Math.imul(hash, SCATTER);
  hash ^= hash >>> 12;
  return hash === 0 ? 1 : hash;
}
