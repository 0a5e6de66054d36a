import type { KeptResult, KeptResults } from '../core/recall/writer.ts';
import type { SqliteStoreOptions } from '../store/sqlite.ts';

/** Start parameters of the recall thread. */
export interface ArchiveSettings {
  readonly store: Omit<SqliteStoreOptions, 'clock' | 'log' | 'hashOf' | 'parts' | 'onDamaged' | 'onSwept' | 'onThread'>;
  /** See `ResultWriterOptions`. */
  readonly keepsAll: boolean;
}

/** Position of a result's text in the transferred bytes. */
interface TextPlace {
  readonly start: number;
  readonly end: number;
  /** Encoded as UTF-16 instead of UTF-8, because the text has a lone surrogate. */
  readonly isWide: boolean;
}

export type ArchiveTask =
  | {
      readonly kind: 'keep';
      readonly id: number;
      readonly kept: Omit<KeptResults, 'results'> & {
        readonly results: readonly (Omit<KeptResult, 'text'> & { readonly place: TextPlace })[];
      };
      readonly texts: ArrayBuffer;
    }
  | { readonly kind: 'close' };

export type ArchiveAnswer =
  /** `error` means that the results could not be stored. */
  | { readonly kind: 'kept'; readonly id: number; readonly error: string | null }
  /** A step failed; it is retried later. */
  | { readonly kind: 'failed'; readonly message: string }
  /** There is nothing more to do. */
  | { readonly kind: 'idle' };

/** Builds a task that stores results; their texts are in one buffer, which is transferred. */
export function keepTask(id: number, { results, ...kept }: KeptResults): Extract<ArchiveTask, { kind: 'keep' }> {
  const places: TextPlace[] = [];
  let size = 0;
  for (const { text } of results) {
    const isWide = !text.isWellFormed();
    const end = size + Buffer.byteLength(text, isWide ? 'utf16le' : 'utf8');
    places.push({ start: size, end, isWide });
    size = end;
  }
  const texts = new ArrayBuffer(size);
  const bytes = Buffer.from(texts);
  const placed = results.flatMap(({ text, ...result }, i) => {
    const place = places[i];
    if (place === undefined) return [];
    bytes.write(text, place.start, place.isWide ? 'utf16le' : 'utf8');
    return [{ ...result, place }];
  });
  return { kind: 'keep', id, kept: { ...kept, results: placed }, texts };
}

/** Inverse of `keepTask`. */
export function receivedResults({ kept, texts }: Extract<ArchiveTask, { kind: 'keep' }>): KeptResults {
  const bytes = Buffer.from(texts);
  const results = kept.results.map(({ place: { start, end, isWide }, ...result }): KeptResult => {
    return { ...result, text: bytes.toString(isWide ? 'utf16le' : 'utf8', start, end) };
  });
  return { ...kept, results };
}
