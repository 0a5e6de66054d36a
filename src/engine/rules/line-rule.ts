/** A line pattern. Necessary conditions for a match are derived from it and checked first. */
export interface LineRule<Name extends string = string> {
  readonly name: Name;
  /** Must not have the flags `g` and `y`. */
  readonly pattern: RegExp;
  /**
   * Keeps the pattern out of merged ones. Used if its beginning is expensive to find: it is tried only on lines with
   * its required words.
   */
  readonly unmerged?: boolean;
}

/** Merges patterns with equal name, flags and `unmerged`. */
export function mergeRules<Name extends string>(rules: readonly LineRule<Name>[]): LineRule<Name>[] {
  const merged = new Map<string, { name: Name; flags: string; sources: string[] }>();
  for (const { name, pattern, unmerged = false } of rules) {
    const key = `${name}/${pattern.flags}/${unmerged}`;
    const group = merged.get(key) ?? { name, flags: pattern.flags, sources: [] };
    group.sources.push(pattern.source);
    merged.set(key, group);
  }
  return [...merged.values()].map(({ name, flags, sources }) => ({
    name,
    pattern: new RegExp(sources.join('|'), flags),
  }));
}
