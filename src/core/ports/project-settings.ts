/** Settings of a project. Absent fields default to the server's. */
export interface ProjectSettings {
  /** `shadow`: nothing is cut, only reported; `off`: requests pass unchanged. */
  readonly mode?: 'prune' | 'shadow' | 'off' | undefined;
  /** Share of conversations that are left whole as a control group. */
  readonly holdout?: number | undefined;
  /** Globs in addition to the server's. */
  readonly neverPruneTools?: readonly string[] | undefined;
  readonly neverPrunePaths?: readonly string[] | undefined;
  /** Language of the reasons in markers. */
  readonly language?: 'fr' | 'en' | undefined;
  /** Monthly budget (UTC). */
  readonly dollarsPerMonth?: number | undefined;
  /** Whether old results are put aside while the provider's cache is cold. */
  readonly coldStash?: 'on' | 'measure' | 'off' | undefined;
  /** Whether the provider summarises finished work. */
  readonly seams?: 'off' | 'measure' | 'on' | undefined;
  /** See `ProjectRetention`. */
  readonly textDays?: number | undefined;
  readonly ledgerDays?: number | undefined;
  readonly auditDays?: number | undefined;
}

/** Retention of a project's data, in days. Default: the server's retention. */
export interface ProjectRetention {
  readonly project: string;
  /** Texts, prunes and conversations after their last use. */
  readonly textDays?: number | undefined;
  /** Bills of requests, and daily figures of keys. */
  readonly ledgerDays?: number | undefined;
  /** Events, audit events included. */
  readonly auditDays?: number | undefined;
}

/** One version of a project's settings. Rows are numbered and append-only. */
export interface ProjectSettingsRow {
  /** Ascending, never reused. */
  readonly number: number;
  readonly project: string;
  readonly atMs: number;
  /** Who made the change, such as the terminal's user. */
  readonly author: string;
  /** JSON of `ProjectSettings`, validated by the program that wrote it. */
  readonly settings: string;
}

/** The store of project settings. Every method may reject with `StoreUnavailable`. */
export interface ProjectSettingsStore {
  /** Changes with every change to the settings; 0 without a row. Cheap. */
  version(): Promise<number>;
  /** The settings in force: the newest row of each project. */
  current(): Promise<readonly ProjectSettingsRow[]>;
  /** Changes of a project, newest first, at most `limit`. */
  history(project: string, limit: number): Promise<readonly ProjectSettingsRow[]>;
  /** Appends a row, which is in force from then on. */
  set(row: Omit<ProjectSettingsRow, 'number'>): Promise<void>;
  /**
   * Calls the listener when settings may have changed: at once for changes by this process, within a second for others.
   * The returned function unsubscribes.
   */
  onChanged(listener: () => void): () => void;
}
