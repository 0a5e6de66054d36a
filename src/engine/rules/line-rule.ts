/** A pattern of lines. The conditions that are checked before it is tried are derived from it. */
export interface LineRule<Name extends string = string> {
  readonly name: Name;
  /** Without the flags `g` and `y`. */
  readonly pattern: RegExp;
  /**
   * Its beginning is rare and costly to find, so that it is tried separately, only on lines that contain what it needs.
   */
  readonly apart?: boolean;
}

/** Merges patterns with the same name into one per set of flags, except for those with `apart`. */
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
