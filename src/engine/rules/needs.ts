import { BEYOND_ASCII, CARRIAGE_RETURN, isBlankSign, isDigit, SPACE, TAB } from '../text/chars.ts';
import { ANY_DIGIT, type CharSet, type Node, parsePattern } from './pattern-parser.ts';

/** Conditions that every line matched by one branch of a pattern fulfils. */
export interface Need {
  /**
   * The characters that the line may begin with, by position, after its indentation if `indented`. `null`: a match may
   * begin anywhere.
   */
  readonly begins: readonly CharSet[] | null;
  readonly indented: boolean;
  /** Words, one of which the line must contain (lower case, `0` for any digit); empty if no word is certain. */
  readonly words: readonly string[];
}

/** First characters of a line that are compared. Chosen, as all below: more exclude hardly any further pattern. */
const MOST_PLACES = 3;
/** Most spellings of a part of a pattern that are listed. */
const MOST_SPELLINGS = 24;
/** Most repetitions that are expanded. */
const MOST_REPEATS = 8;
/** Shortest word that is used if the beginning is known; shorter ones occur in too many lines. */
const LEAST_WORD = 3;

/** The needs of a pattern, one per branch. A line that fulfils none of them cannot match. */
export function needsOf(pattern: RegExp): Need[] {
  return branchesOf(parsePattern(pattern)).map((items): Need => {
    const words = bestWords(items);
    if (items[0]?.type !== 'start') return { begins: null, indented: false, words };
    const rest = items.slice(1);
    const indented = isIndentation(rest[0]);
    const places = placesOf(indented ? rest.slice(1) : rest);
    // where a blank may follow the indentation, nobody knows at which of them the rest begins
    const begins = indented && mayBeBlank(places[0]) ? [] : places;
    return { begins, indented, words: words.every((word) => word.length >= LEAST_WORD) ? words : [] };
  });
}

/** The alternative sequences of a pattern. A choice after an anchor and indentation is split as well. */
function branchesOf(node: Node): Node[][] {
  if (node.type === 'choice') return node.branches.flatMap(branchesOf);
  if (node.type !== 'sequence') return [[node]];
  const items = node.items.flatMap((item) => (item.type === 'sequence' ? item.items : [item]));
  const at = items.findIndex((item) => item.type !== 'start' && !isIndentation(item));
  const first = items[at];
  if (first?.type !== 'choice') return [[...items]];
  return first.branches.flatMap((branch) =>
    branchesOf(branch).flatMap((inner) =>
      branchesOf({ type: 'sequence', items: [...items.slice(0, at), ...inner, ...items.slice(at + 1)] }),
    ),
  );
}

function isIndentation(node: Node | undefined): boolean {
  if (node?.type !== 'repeat' || node.item.type !== 'set') return false;
  return node.item.set.every((has, code) => has === 0 || code === BEYOND_ASCII || isBlankSign(code));
}

function mayBeBlank(set: CharSet | undefined): boolean {
  return set !== undefined && (set[SPACE] === 1 || set.subarray(TAB, CARRIAGE_RETURN + 1).includes(1));
}

/** The sets of characters at the first positions of a sequence, as far as they are certain. */
function placesOf(items: readonly Node[]): CharSet[] {
  const places: CharSet[] = [];
  for (const [k, item] of items.entries()) {
    if (item.type === 'repeat' && item.least === 0) {
      // it or what follows it
      const [first] = firstPlaces(item.item).sets;
      const [next] = placesOf(items.slice(k + 1));
      if (first !== undefined && next !== undefined) places.push(unite([first, next]));
      break;
    }
    const { sets, open } = firstPlaces(item);
    places.push(...sets);
    if (open || places.length >= MOST_PLACES) break;
  }
  return places.slice(0, MOST_PLACES);
}

/** The sets at the first positions of a node. `open`: its length may differ from their number. */
function firstPlaces(node: Node): { readonly sets: CharSet[]; readonly open: boolean } {
  if (node.type === 'set') return { sets: [node.set], open: false };
  if (node.type === 'sequence') return { sets: placesOf(node.items), open: !node.items.every(isPlain) };
  if (node.type === 'empty' || node.type === 'start') return { sets: [], open: false };
  if (node.type === 'repeat' && node.item.type === 'set' && node.least > 0) {
    const { set } = node.item;
    return { sets: Array.from({ length: Math.min(node.least, MOST_PLACES) }, () => set), open: true };
  }
  if (node.type === 'repeat' && node.least > 0) return { ...firstPlaces(node.item), open: true };
  if (node.type !== 'choice') return { sets: [], open: true };
  // as many places as all branches have
  const branches = node.branches.map((branch) => firstPlaces(branch).sets);
  const length = Math.min(...branches.map((sets) => sets.length));
  const sets = Array.from({ length }, (_, k) => unite(branches.map((branch) => branch[k] ?? new Uint8Array())));
  return { sets, open: true };
}

function isPlain(node: Node): boolean {
  return node.type === 'set' || node.type === 'empty';
}

function unite(sets: readonly CharSet[]): CharSet {
  return new Uint8Array(BEYOND_ASCII + 1).map((_, code) => Number(sets.some((set) => set[code] === 1)));
}

/** Words, one of which every match of a sequence contains: those of the part whose shortest word is longest. */
function bestWords(items: readonly Node[]): string[] {
  let best: string[] = [];
  const offer = (words: readonly string[]): void => {
    if (shortest(words) > shortest(best)) best = withoutLonger(words);
  };
  let run: readonly string[] = [''];
  for (const item of items) {
    const spellings = spellingsOf(item);
    const joined = spellings === null ? null : join(run, spellings);
    if (joined !== null) {
      run = joined;
      offer(run);
      continue;
    }
    if (spellings === null) offer(wordsIn(item));
    run = spellings ?? [''];
    offer(run);
  }
  return best;
}

/** The words of a node with too many spellings. */
function wordsIn(node: Node): string[] {
  if (node.type === 'sequence') return bestWords(node.items);
  if (node.type === 'repeat') return node.least > 0 ? bestWords([node.item]) : [];
  if (node.type !== 'choice') return [];
  const branches = node.branches.map((branch) => bestWords([branch]));
  return branches.some((words) => words.length === 0) ? [] : branches.flat();
}

/** All spellings of a node, or `null` if there are too many. */
function spellingsOf(node: Node): string[] | null {
  if (node.type === 'empty' || node.type === 'start') return [''];
  if (node.type === 'set') return node.char !== '' ? [node.char] : membersOf(node.set);
  if (node.type === 'sequence') {
    return node.items.reduce<string[] | null>(
      (all, item) => (all === null ? null : join(all, spellingsOf(item))),
      [''],
    );
  }
  if (node.type === 'choice') {
    const all = node.branches.map(spellingsOf);
    const flat = all.flatMap((spellings) => spellings ?? []);
    return all.includes(null) || flat.length > MOST_SPELLINGS ? null : flat;
  }
  if (node.most > MOST_REPEATS) return null;
  let all: string[] | null = [];
  for (let count = node.least; count <= node.most; count++) {
    const times: string[] | null = Array.from({ length: count }).reduce<string[] | null>(
      (before) => (before === null ? null : join(before, spellingsOf(node.item))),
      [''],
    );
    all = times === null || all === null ? null : [...all, ...times];
  }
  return all;
}

/** The members of a small set of ASCII characters, regardless of case, with all digits as one. */
function membersOf(set: CharSet): string[] | null {
  if (set[BEYOND_ASCII] === 1) return null;
  const members = new Set<string>();
  set.forEach((has, code) => {
    if (has === 1) members.add(isDigit(code) ? ANY_DIGIT : String.fromCharCode(code).toLowerCase());
  });
  return members.size > 4 ? null : [...members];
}

function join(heads: readonly string[], tails: readonly string[] | null): string[] | null {
  if (tails === null || heads.length * tails.length > MOST_SPELLINGS) return null;
  return heads.flatMap((head) => tails.map((tail) => head + tail));
}

function shortest(words: readonly string[]): number {
  return words.length === 0 ? 0 : Math.min(...words.map((word) => word.length));
}

/** Removes words that contain another one: they add no information. */
function withoutLonger(words: readonly string[]): string[] {
  const different = [...new Set(words)];
  return different.filter((word) => !different.some((other) => other !== word && word.includes(other)));
}
