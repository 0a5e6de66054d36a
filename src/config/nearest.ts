/** Longer names are not compared, because they are no typing errors. */
const MAX_LENGTH = 64;

/**
 * Finds the known name most similar to an unknown one.
 *
 * @returns the name with the smallest edit distance, or `null` if none is close
 */
export function nearest(name: string, known: Iterable<string>): string | null {
  if (name.length > MAX_LENGTH) return null;
  let best: string | null = null;
  let least = Math.max(1, Math.floor(name.length / 4)) + 1;
  for (const candidate of known) {
    const edits = editDistance(name.toLowerCase(), candidate.toLowerCase());
    if (edits < least) {
      least = edits;
      best = candidate;
    }
  }
  return best;
}

/** Edit distance of two words: insertions, deletions, replacements, and swaps of adjacent characters. */
function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1] ? 0 : 1;
      let edits = Math.min(at(last, j) + 1, at(row, j - 1) + 1, at(last, j - 1) + same);
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        edits = Math.min(edits, at(beforeLast, j - 2) + 1);
      }
      row.push(edits);
    }
    beforeLast = last;
    last = row;
  }
  return at(last, b.length);
}

function at(row: readonly number[], index: number): number {
  return row[index] ?? 0;
}
