import { BEYOND_ASCII } from '../text/chars.ts';
import type { CharSet } from './pattern-parser.ts';

const SIZE = BEYOND_ASCII + 1;
/** Characters that are spelled out at one place; a larger set ends what is looked at of a beginning. Chosen: it would distinguish few lines at the cost of many states. */
const MOST_SPELLED = 16;

/** Returns which rules a line may match, by its first few characters. */
export class Beginnings {
  /** The next state (a multiple of `SIZE`) by state and character; 0 for none. */
  #next = new Int32Array(SIZE * 16);
  /** By state: marks of the rules whose beginning ends there. */
  readonly #marks: number[] = [0];

  /** Adds the beginning of a rule: sets of characters, place by place; with none the rule fits any line. */
  add(places: readonly CharSet[], marks: number): void {
    const end = places.findIndex((set) => countOf(set) > MOST_SPELLED);
    let states = new Set([0]);
    for (const set of end < 0 ? places : places.slice(0, end + 1)) {
      const reached = new Set<number>();
      for (const state of states) set.forEach((has, code) => void (has === 1 && reached.add(this.#step(state, code))));
      states = reached;
    }
    for (const state of states) this.#marks[state] = (this.#marks[state] ?? 0) | marks;
  }

  #step(state: number, code: number): number {
    const at = state * SIZE + code;
    const known = (this.#next[at] ?? 0) / SIZE;
    if (known !== 0) return known;
    const made = this.#marks.push(0) - 1;
    if (this.#next.length < this.#marks.length * SIZE) {
      const grown = new Int32Array(this.#next.length * 2);
      grown.set(this.#next);
      this.#next = grown;
    }
    this.#next[at] = made * SIZE;
    return made;
  }

  /** The marks of all rules that a line which begins at `start` may fit. */
  marksAt(codes: Uint16Array, start: number, end: number): number {
    const next = this.#next;
    let marks = this.#marks[0] ?? 0;
    let state = 0;
    for (let at = start; at < end; at++) {
      const code = codes[at] ?? 0;
      state = next[state + (code < BEYOND_ASCII ? code : BEYOND_ASCII)] ?? 0;
      if (state === 0) break;
      marks |= this.#marks[state / SIZE] ?? 0;
    }
    return marks;
  }
}

function countOf(set: CharSet): number {
  return set.reduce((sum, has) => sum + has, 0);
}
