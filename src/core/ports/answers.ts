/**
 * What an answer that the provider keeps left behind, for requests that go on from it without repeating it: they may come
 * after a restart, or to another proxy on the same store. Every method may reject with `StoreUnavailable`.
 */
export interface KeptAnswers {
  /** What was kept under an answer's id, or `null`. */
  find(id: string): Promise<string | null>;
  keep(id: string, text: string): Promise<void>;
}
