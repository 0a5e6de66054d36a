import { keyOf } from './hash.ts';
import type { ResultMarks } from './ports/result-marks.ts';
import type { Store } from './ports.ts';

type MarkStore = Pick<Store, 'markServed' | 'wasServed'>;

/** Mark of an original from which `recover_text` or `recall` returned lines. */
export function givenOutMark(pruneId: string): string {
  return keyOf('given out', pruneId);
}

/** Mark of a result that was put aside; the next one marks such a result as recovered. */
const asideMark = (pruneId: string): string => keyOf('put aside', pruneId);
const backMark = (pruneId: string): string => keyOf('came back', pruneId);

/**
 * Marks of recovered originals and of results put aside, by prune id. Kept in the table of served texts, so that all
 * replicas see them and they expire like prunes.
 */
export class StoredMarks implements ResultMarks {
  readonly #store: MarkStore;

  constructor(store: MarkStore) {
    this.#store = store;
  }

  async givenOut(pruneIds: readonly string[]): Promise<ReadonlySet<string>> {
    return this.#marked(pruneIds, givenOutMark);
  }

  async putAside(pruneIds: readonly string[]): Promise<ReadonlySet<string>> {
    return this.#marked(pruneIds, asideMark);
  }

  async noteAside(pruneIds: readonly string[]): Promise<void> {
    await this.#store.markServed(pruneIds.map(asideMark));
  }

  async noteGivenOut(pruneIds: readonly string[]): Promise<readonly string[]> {
    const marks = await this.#store.wasServed(pruneIds.flatMap((pruneId) => [asideMark(pruneId), backMark(pruneId)]));
    const back = [...new Set(pruneIds)].filter(
      (pruneId) => marks.has(asideMark(pruneId)) && !marks.has(backMark(pruneId)),
    );
    await this.#store.markServed([...pruneIds.map(givenOutMark), ...back.map(backMark)]);
    return back;
  }

  async #marked(pruneIds: readonly string[], markOf: (pruneId: string) => string): Promise<ReadonlySet<string>> {
    if (pruneIds.length === 0) return new Set();
    const marks = await this.#store.wasServed(pruneIds.map(markOf));
    return new Set(pruneIds.filter((pruneId) => marks.has(markOf(pruneId))));
  }
}
