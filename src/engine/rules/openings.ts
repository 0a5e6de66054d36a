/**
 * What may follow from a character, to spare patterns that cannot match: for each UTF-16 unit the bits of those of up to
 * eight sets of ASCII characters that it belongs to. What is not ASCII (a blank that only a pattern knows, say) belongs
 * to all of them.
 */
export function openings(...sets: readonly string[]): Uint8Array {
  const table = new Uint8Array(65536).fill(255, 128);
  sets.forEach((characters, k) => {
    for (const character of characters) {
      const code = character.charCodeAt(0);
      table[code] = (table[code] ?? 0) | (1 << k);
    }
  });
  return table;
}
