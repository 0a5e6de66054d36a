/** A pattern of lines. The conditions that are checked before it is tried are derived from it. */
export interface LineRule<Name extends string = string> {
  readonly name: Name;
  /** Without the flags `g` and `y`. */
  readonly pattern: RegExp;
  /**
   * Keeps the pattern out of the merged ones: its beginning is rare and expensive to find, so it is tried separately,
   * on lines that contain its required words.
   */
  readonly apart?: boolean;
}

/** Merges patterns that have the same name, the same flags and the same `apart`. */
export function mergeRules<Name extends string>(rules: readonly LineRule<Name>[]): LineRule<Name>[] {
  const merged = new Map<string, { name: Name; flags: string; sources: string[] }>();
  for (const { name, pattern, apart = false } of rules) {
    const key = `${name}/${pattern.flags}/${apart}`;
    const group = merged.get(key) ?? { name, flags: pattern.flags, sources: [] };
    group.sources.push(pattern.source);
    merged.set(key, group);
  }
  return [...merged.values()].map(({ name, flags, sources }) => ({
    name,
    pattern: new RegExp(sources.join('|'), flags),
  }));
}
