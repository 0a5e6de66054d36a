/**
 * Conversations behind answers that the provider keeps, for requests that continue an answer without repeating it. Such
 * a request may arrive after a restart, or at another proxy on the same store. Every method may reject with
 * `StoreUnavailable`.
 */
export interface KeptAnswers {
  /** What was stored under an answer's id in a project, or `null`. */
  find(project: string, id: string): Promise<string | null>;
  keep(project: string, id: string, text: string): Promise<void>;
}
