/** Settings of a project; absent ones default to the server's. */
export interface ProjectSettings {
  /** `shadow`: nothing is cut, only reported; `off`: requests pass unchanged. */
  readonly mode?: 'prune' | 'shadow' | 'off' | undefined;
  /** Share of conversations that are left whole. */
  readonly holdout?: number | undefined;
  /** Globs, in addition to the server's own. */
  readonly neverPruneTools?: readonly string[] | undefined;
  readonly neverPrunePaths?: readonly string[] | undefined;
  /** Language of the reasons in markers. */
  readonly language?: 'fr' | 'en' | undefined;
  /** Budget of a month (UTC). */
  readonly dollarsPerMonth?: number | undefined;
  /** Whether new conversations get shortened tools; subscription logins only if the server shortens theirs too. */
  readonly shelf?: 'on' | 'off' | undefined;
  /** How much is cut. */
  readonly boldness?: 'careful' | 'balanced' | 'bold' | undefined;
  /** Whether old results are put aside while the provider's cache is cold. */
  readonly coldStash?: 'on' | 'provider' | 'measure' | 'off' | undefined;
  /** As `ProjectRetention`. */
  readonly textDays?: number | undefined;
  readonly ledgerDays?: number | undefined;
  readonly auditDays?: number | undefined;
}

/** How long data of a project is kept, in days; absent: as long as the server keeps it. */
export interface ProjectRetention {
  readonly project: string;
  /** Texts, prunes and conversations after their last use. */
  readonly textDays?: number | undefined;
  /** Bills of requests, and daily figures of keys. */
  readonly ledgerDays?: number | undefined;
  /** Events, audit events included. */
  readonly auditDays?: number | undefined;
}

/** One change of a project's settings: a numbered row that is never changed, only followed by another. */
export interface ProjectSettingsRow {
  /** Ascending, without reuse. */
  readonly number: number;
  readonly project: string;
  readonly atMs: number;
  /** Who changed them, such as the user of a terminal. */
  readonly author: string;
  /** JSON of `ProjectSettings`, validated by the program that wrote it. */
  readonly settings: string;
}

/** The store of project settings. Every method may reject with `StoreUnavailable`. */
export interface ProjectSettingsStore {
  /** A number that differs after every change; 0 without a row. Cheap. */
  version(): Promise<number>;
  /** The settings in force: the newest row of each project. */
  current(): Promise<readonly ProjectSettingsRow[]>;
  /** Changes of a project, newest first, at most `limit`. */
  history(project: string, limit: number): Promise<readonly ProjectSettingsRow[]>;
  /** Adds a row; it is in force from then on. */
  set(row: Omit<ProjectSettingsRow, 'number'>): Promise<void>;
  /**
   * Calls back when settings may have changed, at once after a change by this process and within a second after one by
   * another, until the returned function is called.
   */
  onChanged(listener: () => void): () => void;
}
