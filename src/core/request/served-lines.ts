import { BoundedMap } from '../../base/bounded-map.ts';
import { together, type Work, waitFor } from '../../base/work.ts';
import { lineAt, splitLines } from '../../engine/text/lines.ts';
import type { LineRange } from '../../engine/types.ts';
import { storeFailure } from '../../errors/errors.ts';
import type { RecoveredLines } from '../../wires/transcript/shell-recovery.ts';
import type { Ownership } from '../ownership.ts';
import type { Store } from '../ports.ts';
import type { FoundText } from './found-text.ts';

interface ServedLinesOptions {
  readonly store: Pick<Store, 'findOriginal'>;
  /** Present if originals belong to projects. */
  readonly owners?: Ownership | undefined;
}

/** Maximum total length of originals that one request's texts are compared with, in characters. */
const MAX_CHARS = 4_000_000;
/** Maximum number of originals with cached lines; conversations recover from only a few. */
const MAX_CACHED = 16;
/** Shorter lines (`}`, `OK`) occur in any text. They count only next to other recovered lines. */
const LEAST_CHARS = 6;
/** A text with a larger share of recovered lines counts as recovered and is never cut. */
const MOST_SHARE = 0.5;
/** A line number in front of a line, as `nl`, `cat -n`, `grep -n`, `diff` and `recover_text` print it. */
const NUMBERED = /^[-+ ]?\s{0,12}\d{1,9}(?:│ ?|\t|: ?|→| ?\| ?|-| {1,3})/;

/**
 * Recognises lines in new texts that shell commands recovered earlier in the conversation. The commands are part of the
 * conversation and originals never change, so every replica and every later request gets the same result.
 */
export class ServedLines {
  readonly #options: ServedLinesOptions;
  /** Trimmed lines of the recovered ranges, per original. */
  readonly #lines = new BoundedMap<string, ReadonlySet<string>>(MAX_CACHED);

  constructor(options: ServedLinesOptions) {
    this.#options = options;
  }

  /**
   * Marks recovered lines in texts; a text that mainly consists of them is marked as recovered. Texts stay whole if the
   * originals cannot be read.
   *
   * @param offline - the store must not be queried
   */
  *mark(texts: readonly FoundText[], project: string, offline: boolean): Work<readonly FoundText[]> {
    if (texts.every(({ recovered }) => recovered === undefined)) return texts;
    if (offline) return texts.map(asRecovered);
    try {
      return yield* together(texts.map((text) => this.#markOne(text, project)));
    } catch (cause) {
      storeFailure(cause);
      return texts.map(asRecovered);
    }
  }

  *#markOne(text: FoundText, project: string): Work<FoundText> {
    if (text.recovered === undefined) return text;
    const served = servedIn(text.job.text, yield* this.#linesOf(text.recovered, project));
    if (served.share > MOST_SHARE) return asRecovered(text);
    if (served.ranges.length === 0) return text;
    return { ...text, job: { ...text.job, hints: { ...text.job.hints, served: served.ranges } } };
  }

  /** Lines of all originals that the project owns, newest first, up to the size limit. */
  *#linesOf(recovered: readonly RecoveredLines[], project: string): Work<ReadonlySet<string>[]> {
    const { owners } = this.#options;
    const ids = [...new Set(recovered.map(({ pruneId }) => pruneId))];
    const owned = new Set(owners ? yield* owners.ownedBy(project, ids) : ids);
    const sets: ReadonlySet<string>[] = [];
    let left = MAX_CHARS;
    for (const lines of recovered.toReversed()) {
      if (!owned.has(lines.pruneId)) continue;
      const key = JSON.stringify(lines);
      const known = this.#lines.get(key);
      const text = known ? '' : ((yield* waitFor(this.#options.store.findOriginal(lines.pruneId))) ?? '');
      left -= text.length;
      if (left < 0) break;
      const set = known ?? linesIn(text, lines.ranges);
      this.#lines.set(key, set);
      sets.push(set);
    }
    return sets;
  }
}

function asRecovered(text: FoundText): FoundText {
  return text.recovered === undefined ? text : { ...text, skip: 'recovered' };
}

function linesIn(text: string, ranges: readonly LineRange[]): ReadonlySet<string> {
  const lines = splitLines(text);
  const set = new Set<string>();
  for (const { startLine, endLine } of ranges.length > 0 ? ranges : [{ startLine: 1, endLine: lines.count }]) {
    for (let line = startLine; line <= Math.min(endLine, lines.count); line++) set.add(lineAt(lines, line).trim());
  }
  set.delete('');
  return set;
}

/** Lines of a text that are in any of the sets, with or without a line number in front. */
function servedIn(text: string, sets: readonly ReadonlySet<string>[]): { ranges: LineRange[]; share: number } {
  const lines = splitLines(text);
  const ranges: { startLine: number; endLine: number }[] = [];
  let served = 0;
  let all = 0;
  let blanks = 0;
  for (let line = 1; line <= lines.count; line++) {
    const content = lineAt(lines, line);
    const trimmed = content.trim();
    if (trimmed === '') {
      blanks++;
      continue;
    }
    all++;
    const bare = content.replace(NUMBERED, '').trim();
    const last = ranges.at(-1);
    const joins = last !== undefined && last.endLine === line - 1 - blanks;
    const distinct = bare.length >= LEAST_CHARS || joins;
    if (distinct && sets.some((set) => set.has(trimmed) || set.has(bare))) {
      served++;
      if (joins) last.endLine = line;
      else ranges.push({ startLine: line, endLine: line });
    }
    blanks = 0;
  }
  return { ranges, share: all === 0 ? 0 : served / all };
}
