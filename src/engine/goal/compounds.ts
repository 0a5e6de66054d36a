/** A name of words that hyphens or dots join: of a package, a module, an option, a version. */
const COMPOUND = /[A-Za-z0-9_]{1,60}(?:[-.][A-Za-z0-9_]{1,60}){1,8}/g;
/** `e.g.`, `i.e.` are none. */
const HAS_WORD = /[A-Za-z]{3}|\d/;
/** Further ones no longer distinguish lines. Chosen. */
const MOST_COMPOUNDS = 40;

/** A compound of a goal, `[start, end)` in it. */
export interface Compound {
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

/** The compounds of a goal, in order. */
export function compoundsOf(goal: string): Compound[] {
  const found: Compound[] = [];
  for (const { 0: text, index } of goal.matchAll(COMPOUND)) {
    if (HAS_WORD.test(text)) found.push({ text, start: index, end: index + text.length });
    if (found.length === MOST_COMPOUNDS) break;
  }
  return found;
}
