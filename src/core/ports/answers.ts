/**
 * Conversations behind answers that the provider stores, for requests that continue from one without repeating it. Such
 * a request may arrive after a restart, or at another proxy that shares the store. Every method may reject with
 * `StoreUnavailable`.
 */
export interface KeptAnswers {
  /** Returns the conversation stored under an answer's id in a project, or `null`. */
  find(project: string, id: string): Promise<string | null>;
  keep(project: string, id: string, text: string): Promise<void>;
}
