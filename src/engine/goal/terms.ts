import { scanWords, wordHash } from './words.ts';

/** One word that the goal asks for. */
export interface GoalTerm {
  /** As `scanWords` hashes it. */
  readonly hash: number;
  /** As the goal spells it. */
  readonly word: string;
  /** How much the goal insists on it, about 0.5..3. */
  readonly weight: number;
  /** Whether it stands there on its own and not only as part of an identifier. */
  readonly whole: boolean;
}

/** What stands further down in a goal, or is its 201st word, tells no lines apart any more. Chosen. */
const MAX_GOAL_CHARS = 6000;
const MAX_TERMS = 200;

const STOP_WORDS = `a an any and are as at be been but by can cannot could did do does doing done for from get got had has
have how i if in into is it its just let like make makes may me might more most must my need no not now of off on
once one only or other our out over own same see shall should so some such than that the their them then there
these they this those through to too under until up use used uses using very was we well were what when where
which while who whom why will with would you your fix fixes fixed bug issue add added adds remove removed support
instead also new when change changed changes ensure allow allows error code file line lines test tests
le la les de du des un une et est dans ce cette pourquoi trouver au aux par pour que qui sur avec
find show want did please here before after because previously currently`;

const STOP = new Set(STOP_WORDS.split(/\s+/).map(wordHash));

/** The words of a goal that can tell lines apart, the heaviest first; empty when the goal says nothing. */
export function goalTerms(goal: string): GoalTerm[] {
  const text = goal.slice(0, MAX_GOAL_CHARS);
  const title = text.indexOf('\n') < 0 ? text.length : text.indexOf('\n');
  const found = new Map<number, { word: string; count: number; emphasis: number; whole: boolean }>();
  scanWords(text, 0, text.length, (hash, start, end, isPart) => {
    if (STOP.has(hash) || found.size >= MAX_TERMS * 4) return;
    const word = text.slice(start, end);
    const emphasis = (start < title ? 2 : 1) * (isPart ? 1 : spelling(text, start, end));
    const entry = found.get(hash);
    if (entry === undefined) found.set(hash, { word, count: 1, emphasis, whole: !isPart });
    else {
      entry.count++;
      if (!isPart) entry.whole = true;
      entry.emphasis = Math.max(entry.emphasis, emphasis);
    }
  });
  return [...found]
    .map(([hash, { word, count, emphasis, whole }]) => {
      const weight = Math.sqrt(Math.min(count, 3)) * emphasis;
      return { hash, word, weight, whole };
    })
    .sort((a, b) => b.weight - a.weight)
    .slice(0, MAX_TERMS);
}

/** Identifiers, quoted words and paths are what a goal means literally. */
function spelling(text: string, start: number, end: number): number {
  const before = start > 0 ? text.charAt(start - 1) : ' ';
  const after = end < text.length ? text.charAt(end) : ' ';
  if (before === '`' || after === '`' || after === '(') return 2.2;
  for (let i = start; i < end; i++) {
    const code = text.charCodeAt(i);
    if (code === 95) return 2;
    if (i > start && code >= 65 && code <= 90 && text.charCodeAt(i - 1) >= 97) return 2;
  }
  return 1;
}
