import { keyOf } from './hash.ts';
import type { ResultMarks } from './ports/result-marks.ts';
import type { Store } from './ports.ts';

type MarkStore = Pick<Store, 'markServed' | 'wasServed'>;

/** The mark of an original of which `recover_text` or `recall` gave out lines. */
export function givenOutMark(pruneId: string): string {
  return keyOf('given out', pruneId);
}

/** The mark of a result that was put aside, and the one of such a result that came back. */
const asideMark = (pruneId: string): string => keyOf('put aside', pruneId);
const backMark = (pruneId: string): string => keyOf('came back', pruneId);

/**
 * What was given out and what was put aside, by prune id. The marks are in the table of served texts: all replicas
 * see them, and they expire as prunes do.
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
