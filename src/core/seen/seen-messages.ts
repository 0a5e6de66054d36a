import type { ScannedText } from '../../wires/dialects/dialect.ts';
import { textHash } from '../hash.ts';
import type { SeenMessage, SeenResult } from '../ports/seen.ts';
import type { SeenSegment } from '../ports/segments.ts';
import { keptId } from '../recall/kept-text.ts';
import { isTooLong } from '../request/body-texts.ts';
import { containsRecovered, type FindSettings, innerTexts } from '../request/found-text.ts';
import type { ReadBody } from '../request/read.ts';
import { MIN_KEPT_CHARS, type ReadResult } from '../request/results.ts';
import { type DecidedSegments, SegmentDescriber } from '../segments/describe.ts';

/** The parsed texts of a request's messages. */
export type ReadTexts = Pick<ReadBody, 'found' | 'results' | 'texts' | 'messages'>;

const HEAD_BYTES = 300;

/** Prepares messages for observers. Decodes and hashes only texts that the pipeline has not processed already. */
export class SeenMessages {
  readonly #read: ReadTexts;
  readonly #describer: SegmentDescriber | null;

  /** @param decided - `null` if segments are not needed */
  constructor(
    read: ReadTexts,
    decided: DecidedSegments | null,
    settings: Pick<FindSettings, 'neverPruneTool' | 'neverPrunePath'>,
  ) {
    this.#read = read;
    this.#describer = decided && new SegmentDescriber(decided, settings);
  }

  /** Returns a message; must be called in ascending order. */
  at(index: number): SeenMessage & { readonly chars: number } {
    const results = this.#resultsOf(index);
    const idsOf = (source: ScannedText) =>
      results.flatMap((result) => (result.source === source ? [result.pruneId] : []));
    const segments: readonly SeenSegment[] = this.#describer?.of(index, idsOf) ?? [];
    let chars = 1;
    for (const { text } of results) chars += text.length;
    for (const { text } of segments) chars += text.length;
    const { role = 'other' } = this.#read.messages[index] ?? {};
    return { index, role, words: this.#wordsOf(index), head: this.#headOf(index), results, segments, chars };
  }

  #wordsOf(index: number): string[] {
    const { messages, texts } = this.#read;
    const message = messages[index];
    if (message?.role !== 'user') return [];
    const words = message.texts.filter(({ use, literal }) => use === 'words' && !isTooLong(literal));
    return words.map(({ literal }) => texts.at(literal) ?? '');
  }

  #headOf(index: number): string {
    const { messages, texts } = this.#read;
    const message = messages[index];
    if (message?.role !== 'other') return '';
    const { start, end } = message.span;
    return texts.bytes.toString('latin1', start, Math.min(end, start + HEAD_BYTES));
  }

  #resultsOf(index: number): (SeenResult & { readonly source: ScannedText })[] {
    return atIndex(this.#read.results, index).flatMap((result) => {
      const { source, tool, path, said, call } = result;
      const callId = source.use === 'result' ? source.callId || source.name : null;
      return this.#textsOf(result).map(({ text, hash, outerHash }) => {
        return { source, text, hash, outerHash, pruneId: keptId(hash), tool, path, said, call, callId };
      });
    });
  }

  #textsOf({ messageIndex, source, range, recovered, isFound }: ReadResult) {
    const { literal } = source;
    if (recovered || isTooLong(literal)) return [];
    const text = (this.#read.texts.at(literal) ?? '').slice(range.start, range.end);
    if (containsRecovered(text)) return [];
    const found = atIndex(this.#read.found, messageIndex).filter((one) => one.literal === literal);
    if (isFound && found.length > 0 && found.every(({ place }) => place.start === 0))
      return found.map(({ job, around }) => ({
        text: job.text,
        hash: job.textHash,
        outerHash: around[0] ?? job.textHash,
      }));
    return innerTexts(text, MIN_KEPT_CHARS).map((inner) => {
      const hash = found.find(({ job }) => job.text === inner.text)?.job.textHash ?? textHash(inner.text);
      return { text: inner.text, hash, outerHash: inner.around[0] ?? hash };
    });
  }
}

/** Items of one message, from a list in message order. */
function atIndex<Item extends { readonly messageIndex: number }>(
  items: readonly Item[],
  index: number,
): readonly Item[] {
  let [low, high] = [0, items.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((items[middle]?.messageIndex ?? index) < index) low = middle + 1;
    else high = middle;
  }
  let end = low;
  while (items[end]?.messageIndex === index) end++;
  return items.slice(low, end);
}
