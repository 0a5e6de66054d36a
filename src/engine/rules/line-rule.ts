/** A fact about lines, written once. What may be looked at before the pattern is tried follows from the pattern. */
export interface LineRule<Name extends string = string> {
  readonly name: Name;
  /** Without the flags `g` and `y`. */
  readonly pattern: RegExp;
  /** Its beginning is rare and costly to look for: it is tried by itself, only on lines that have what it needs. */
  readonly apart?: boolean;
}

/** What several patterns say under the same name, as one pattern for each set of flags, and one for those apart. */
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
