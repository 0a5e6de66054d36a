/** Whether a version is older than another one, by the three numbers; pre-release and build suffixes are ignored. */
export function precedes(version: string, other: string): boolean {
  const [left, right] = [numbersOf(version), numbersOf(other)];
  const at = left.findIndex((part, i) => part !== right[i]);
  return at >= 0 && (left[at] ?? 0) < (right[at] ?? 0);
}

function numbersOf(version: string): number[] {
  const parts = version.replace(/[-+].*/, '').split('.');
  return [0, 1, 2].map((i) => Number(parts[i] ?? 0));
}
