import type { LineHashes } from '../../engine/text/line-hashes.ts';
import type { FileLines } from '../transcript/call-targets.ts';
import type { Place } from './conversation.ts';

/** Lines of a file, 1-based and inclusive; `Infinity` for an unknown end. */
export interface FileRange {
  readonly from: number;
  readonly to: number;
}

/** A result that a conversation showed, with what is needed to find its lines again in the body. */
export interface ShownText {
  readonly hash: string;
  /** The JSON string that contains it, which is at the same place in all later bodies of the conversation. */
  readonly literal: Place;
  /** Position in that string, see `TextPlace`. */
  readonly json: readonly number[];
  readonly start: number;
  readonly chars: number;
  readonly ordinal: number;
  readonly tool: string;
  readonly paths: readonly string[];
  /** The requested lines of the file; 0 for an unspecified bound. */
  readonly asked: FileLines;
  /** The command, if the result shows no file. */
  readonly command: string;
  /** Number of the model's answers before it. */
  readonly answers: number;
}

/** A shown text with its order, and what was decided about it. */
export interface ShownEntry extends ShownText {
  readonly seq: number;
  /** Number of its lines that earlier texts have as well, of those that are indexed. */
  readonly known: number;
  /** Lines of the file that were cut because an earlier text shows them. Set once decided, equal for all copies. */
  repeats: readonly FileRange[];
}

/** An edit of files, as its result reports it. */
export interface FileEdit {
  readonly paths: readonly string[];
  /** Number of shown texts before it. */
  readonly seq: number;
  readonly failed: boolean;
  /** Lines that it wrote, trimmed. */
  readonly lines: readonly string[];
}

/** Lines with fewer characters, such as brackets, stand in any text. */
const LEAST_CHARS = 8;
/** One of so many lines is indexed, chosen by its content, so that equal runs have the same indexed lines. */
const SAMPLED = 4;

export function isIndexed({ hash, from, end }: LineHashes, line: number): boolean {
  return (end[line] ?? 0) - (from[line] ?? 0) >= LEAST_CHARS && (hash[line] ?? 0) % SAMPLED === 0;
}

/** Storage shared by several indexes, each up to its own length. */
interface SharedIndex {
  readonly entries: ShownEntry[];
  /** Number of postings after each entry. */
  readonly ends: number[];
  /** By posting: the entry, the line index, and the previous posting of the same line, or -1. */
  readonly entryOf: number[];
  readonly lineOf: number[];
  readonly previous: number[];
  /** Newest posting by hash of the line. */
  readonly newest: Map<number, number>;
}

const emptyRoom = (): SharedIndex => ({
  entries: [],
  ends: [],
  entryOf: [],
  lineOf: [],
  previous: [],
  newest: new Map(),
});

/** Maximum number of indexed lines and of texts per conversation. Later texts are no longer indexed. */
const MAX_POSTINGS = 200_000;
const MAX_ENTRIES = 20_000;

/**
 * The lines of the results that a conversation showed: one of four, by content. A fork shares all existing entries. The
 * first index to append does so in place; others that continue from the same point with other texts copy them.
 */
export class ShownLines {
  #room: SharedIndex;
  #size: number;
  /** Texts before this one were replaced by a summary of the provider. */
  #floor = 0;

  constructor(room = emptyRoom(), size = 0, floor = 0) {
    this.#room = room;
    this.#size = size;
    this.#floor = floor;
  }

  fork(): ShownLines {
    return new ShownLines(this.#room, this.#size, this.#floor);
  }

  get size(): number {
    return this.#size;
  }

  /** Approximate size in memory: the number of texts, and one per eight indexed lines. */
  get weight(): number {
    return this.#size + (this.#postings >> 3);
  }

  get #postings(): number {
    return this.#room.ends[this.#size - 1] ?? 0;
  }

  /** Records that a summary stands for all texts so far. */
  summarised(): void {
    this.#floor = this.#size;
  }

  /**
   * Adds a text.
   *
   * @param lines - its lines, to be found later; `null` to remember only that it was shown
   */
  add(text: ShownText, lines: LineHashes | null): ShownEntry | null {
    const seq = this.#size;
    if (seq >= MAX_ENTRIES) return null;
    const existing = this.#room.entries[seq];
    if (existing !== undefined && isSame(existing, text)) {
      // the same message is read again, from a checkpoint before it
      this.#size++;
      return existing;
    }
    if (this.#room.entries.length > seq) this.#copy();
    const { entries, ends, entryOf, lineOf, previous, newest } = this.#room;
    let known = 0;
    const count = lines !== null && entryOf.length < MAX_POSTINGS ? lines.count : 0;
    for (let line = 0; lines !== null && line < count; line++) {
      if (!isIndexed(lines, line)) continue;
      const hash = lines.hash[line] ?? 0;
      const before = newest.get(hash) ?? -1;
      if (before >= 0 && entryOf[before] !== seq) known++;
      newest.set(hash, entryOf.length);
      entryOf.push(seq);
      lineOf.push(line);
      previous.push(before);
    }
    const entry: ShownEntry = { ...text, seq, known, repeats: [] };
    entries.push(entry);
    ends.push(entryOf.length);
    this.#size++;
    return entry;
  }

  /** Texts that still stand in the conversation, before one of them, oldest first. */
  before({ seq }: Pick<ShownEntry, 'seq'>): readonly ShownEntry[] {
    return this.#room.entries.slice(this.#floor, Math.min(seq, this.#size));
  }

  /** Places of a line in texts before one, newest first, at most `most`. */
  *placesOf(
    hash: number,
    { seq }: Pick<ShownEntry, 'seq'>,
    most: number,
  ): Generator<{ readonly entry: ShownEntry; readonly line: number }> {
    const { entries, entryOf, lineOf, previous, newest } = this.#room;
    let left = most;
    for (let at = newest.get(hash) ?? -1; at >= 0 && left > 0; at = previous[at] ?? -1) {
      const number = entryOf[at] ?? 0;
      if (number >= Math.min(seq, this.#size)) continue;
      if (number < this.#floor) return;
      const entry = entries[number];
      if (entry === undefined) return;
      left--;
      yield { entry, line: lineOf[at] ?? 0 };
    }
  }

  #copy(): void {
    const { entries, ends, entryOf, lineOf, previous } = this.#room;
    const postings = this.#postings;
    const room: SharedIndex = {
      entries: entries.slice(0, this.#size),
      ends: ends.slice(0, this.#size),
      entryOf: entryOf.slice(0, postings),
      lineOf: lineOf.slice(0, postings),
      previous: previous.slice(0, postings),
      newest: new Map(),
    };
    for (const [hash, at] of this.#room.newest) {
      let own = at;
      while (own >= postings) own = previous[own] ?? -1;
      if (own >= 0) room.newest.set(hash, own);
    }
    this.#room = room;
  }
}

function isSame(a: ShownText, b: ShownText): boolean {
  return (
    a.hash === b.hash &&
    a.literal.start === b.literal.start &&
    a.literal.end === b.literal.end &&
    a.start === b.start &&
    a.json.join(' ') === b.json.join(' ') &&
    a.tool === b.tool &&
    a.paths.join('\0') === b.paths.join('\0')
  );
}
