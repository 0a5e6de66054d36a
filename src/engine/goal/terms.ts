import { isCapital, UNDERSCORE } from '../text/chars.ts';
import { scanWords, wordHash } from './words.ts';

/** A name made of words joined by hyphens or dots: a package, a module, an option, a version. */
const COMPOUND = /[A-Za-z0-9_]{1,60}(?:[-.][A-Za-z0-9_]{1,60}){1,8}/g;
/** Excludes `e.g.` and `i.e.`. */
const HAS_WORD = /[A-Za-z]{3}|\d/;
/** Maximum number of compounds per goal. Further ones hardly distinguish lines. Set by hand. */
const MOST_COMPOUNDS = 40;

/** A compound in a goal, at `[start, end)`. */
interface Compound {
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

function compoundsOf(goal: string): Compound[] {
  const found: Compound[] = [];
  for (const { 0: text, index } of goal.matchAll(COMPOUND)) {
    if (HAS_WORD.test(text)) found.push({ text, start: index, end: index + text.length });
    if (found.length === MOST_COMPOUNDS) break;
  }
  return found;
}

export interface GoalTerm {
  /** Hash as computed by `scanWords`. */
  readonly hash: number;
  readonly word: string;
  /** Weight in the goal, 1..7.6: the square root of the number of occurrences (at most 3) times the emphasis. */
  readonly weight: number;
  /** Whether the word occurs on its own, not only as part of an identifier. */
  readonly whole: boolean;
  /** Whether the word is spelled like an identifier, or marked as code. */
  readonly literal: boolean;
  /** The compounds (`better-sqlite3`, `v1.2.3`) that contain the word. */
  readonly compounds: readonly string[];
  /** Whether the word occurs only within compounds. */
  readonly isPart: boolean;
}

/** Limits for the characters read and for the terms of a goal. Further words hardly distinguish lines. Set by hand. */
const MAX_GOAL_CHARS = 6000;
const MAX_TERMS = 200;
/** Maximum number of words that are considered; the heaviest of them become terms. Set by hand. */
const MAX_FOUND = 4 * MAX_TERMS;

/** Weights of quoted or called names, of words spelled like identifiers, and of the goal's first line. Set by hand. */
const QUOTED = 2.2;
const SPELLED = 2;
const IN_TITLE = 2;
/** Maximum number of occurrences that add to a word's weight. Set by hand. */
const MOST_COUNTED = 3;

const STOP_WORDS = `a an any and are as at be been but by can cannot could did do does doing done for from get got had has
have how i if in into is it its just let like make makes may me might more most must my need no not now of off on
once one only or other our out over own same see shall should so some such than that the their them then there
these they this those through to too under until up use used uses using very was we well were what when where
which while who whom why will with would you your fix fixes fixed bug issue add added adds remove removed support
instead also new when change changed changes ensure allow allows error code file line lines test tests
le la les de du des un une et est dans ce cette pourquoi trouver au aux par pour que qui sur avec
find show want did please here before after because previously currently`;

const STOP = new Set(STOP_WORDS.split(/\s+/).map(wordHash));

/** Whether a word occurs in questions about anything, so that it is no term. */
export function saysLittle(word: string): boolean {
  return STOP.has(wordHash(word));
}

/** Typical first words of requests, which name an action instead of a topic. */
const LEADING = new Set(
  `look search check read open run list view tell explain give locate inspect review understand implement update refactor
  investigate help try print write create improve handle examine verify determine figure analyze analyse debug resolve
  cherche regarde lis ouvre liste montre explique donne corrige vérifie ajoute lance exécute`
    .split(/\s+/)
    .map(wordHash),
);

function leads(text: string, start: number): boolean {
  let at = start - 1;
  while (at >= 0 && (text[at] === ' ' || text[at] === '-' || text[at] === '*')) at--;
  return at < 0 || text[at] === '\n';
}

/** The words of a goal that can distinguish lines, by descending weight; empty for a goal without such words. */
export function goalTerms(goal: string): GoalTerm[] {
  const text = goal.slice(0, MAX_GOAL_CHARS);
  const title = text.indexOf('\n') < 0 ? text.length : text.indexOf('\n');
  const compounds = compoundsOf(text);
  const found = new Map<number, CountedTerm>();
  let next = 0;
  scanWords(text, 0, text.length, (hash, start, end, isPart) => {
    if (STOP.has(hash) || found.size >= MAX_FOUND) return;
    if (LEADING.has(hash) && leads(text, start)) return;
    while (next < compounds.length && (compounds[next]?.end ?? 0) <= start) next++;
    const compound = compounds[next];
    const spelled = isPart ? 1 : spelling(text, start, end);
    const entry = found.get(hash) ?? newTerm(hash, text.slice(start, end));
    if (entry.count++ === 0) found.set(hash, entry);
    if (compound === undefined || start < compound.start) entry.isPart = false;
    else if (!entry.compounds.includes(compound.text)) entry.compounds.push(compound.text);
    if (!isPart) entry.whole = true;
    if (spelled > 1) entry.literal = true;
    entry.emphasis = Math.max(entry.emphasis, (start < title ? IN_TITLE : 1) * spelled);
  });
  const terms = [...found.values()];
  for (const term of terms) term.weight = Math.sqrt(Math.min(term.count, MOST_COUNTED)) * term.emphasis;
  return terms.sort((a, b) => b.weight - a.weight).slice(0, MAX_TERMS);
}

interface CountedTerm extends GoalTerm {
  count: number;
  emphasis: number;
  weight: number;
  whole: boolean;
  literal: boolean;
  isPart: boolean;
  readonly compounds: string[];
}

function newTerm(hash: number, word: string): CountedTerm {
  return { hash, word, weight: 0, whole: false, literal: false, compounds: [], isPart: true, count: 0, emphasis: 0 };
}

/** The code of `a`. Codes from here on are treated as lower case, including accented capitals. */
const SMALL_A = 97;

/** Weight of a word's spelling: identifiers, called names and words in backticks are meant literally. */
function spelling(text: string, start: number, end: number): number {
  const before = start > 0 ? text.charAt(start - 1) : ' ';
  const after = end < text.length ? text.charAt(end) : ' ';
  if (before === '`' || after === '`' || after === '(') return QUOTED;
  for (let i = start; i < end; i++) {
    const code = text.charCodeAt(i);
    if (code === UNDERSCORE) return SPELLED;
    if (i > start && isCapital(code) && text.charCodeAt(i - 1) >= SMALL_A) return SPELLED;
  }
  return 1;
}
