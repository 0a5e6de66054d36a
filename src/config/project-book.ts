import type { FailureReporter } from '../base/failures.ts';
import type { Budget } from '../core/ports/budgets.ts';
import type { ProjectRetention, ProjectSettings, ProjectSettingsStore } from '../core/ports/project-settings.ts';
import { projectSettingsIn } from './project-settings.ts';
import type { Settings } from './settings.ts';

/** Pause after a failed read of the settings. */
const RETRY_MS = 1_000;
const NOTHING: ProjectSettings = {};

interface ProjectMode {
  readonly enabled: boolean;
  readonly shadow: boolean;
}

interface ProjectBookOptions {
  readonly settings: Settings;
  readonly store: Pick<ProjectSettingsStore, 'version' | 'current' | 'onChanged'>;
  /** Called for a project whose settings were written by a newer version. */
  readonly onUnreadable: (project: string) => void;
  readonly onFailure: FailureReporter;
}

/**
 * In-memory settings of projects. They apply to new texts only, because recorded cuts are replayed regardless. While
 * the store is unavailable, the last settings apply.
 */
export class ProjectBook {
  readonly #options: ProjectBookOptions;
  #own = new Map<string, ProjectSettings>();
  #merged = new Map<string, Settings>();
  #version = 0;
  #retry: NodeJS.Timeout | undefined;
  #stopListening = (): void => {};
  #polling: Promise<void> | null = null;
  #failing = false;
  readonly #listeners = new Set<() => void>();

  constructor(options: ProjectBookOptions) {
    this.#options = options;
  }

  /** Reads the settings now and after every change. Never rejects. */
  async start(): Promise<void> {
    this.#stopListening = this.#options.store.onChanged(() => void this.#pollAnew());
    await this.poll();
  }

  close(): void {
    this.#stopListening();
    clearTimeout(this.#retry);
  }

  onChanged(listener: () => void): void {
    this.#listeners.add(listener);
  }

  of(project: string): ProjectSettings {
    return this.#own.get(project) ?? NOTHING;
  }

  /** How a project's requests are handled. The server's kill switch overrides the project's mode. */
  modeOf(project: string): ProjectMode {
    const { settings } = this.#options;
    const { mode = settings.mode } = this.of(project);
    return { enabled: settings.enabled && mode !== 'off', shadow: mode === 'shadow' };
  }

  holdoutOf(project: string): number {
    return this.of(project).holdout ?? this.#options.settings.holdout;
  }

  /** The server's settings with the project's globs and language; the identical object until they change. */
  settingsOf(project: string): Settings {
    const { settings } = this.#options;
    const own = this.#own.get(project);
    if (own === undefined) return settings;
    const known = this.#merged.get(project);
    if (known) return known;
    const { neverPruneTools = [], neverPrunePaths = [], language = settings.reasonLanguage } = own;
    const merged: Settings = {
      ...settings,
      neverPruneTools: [...settings.neverPruneTools, ...neverPruneTools],
      neverPrunePaths: [...settings.neverPrunePaths, ...neverPrunePaths],
      reasonLanguage: language,
    };
    this.#merged.set(project, merged);
    return merged;
  }

  budgets(): Budget[] {
    return [...this.#own].flatMap(([name, { dollarsPerMonth: dollars }]) =>
      dollars === undefined ? [] : [{ of: 'project', name, dollars }],
    );
  }

  coldStashOf(project: string): Settings['coldStash'] {
    return this.of(project).coldStash ?? this.#options.settings.coldStash;
  }

  retentions(): ProjectRetention[] {
    return [...this.#own].flatMap(([project, { textDays, ledgerDays, auditDays }]) =>
      (textDays ?? ledgerDays ?? auditDays) === undefined ? [] : [{ project, textDays, ledgerDays, auditDays }],
    );
  }

  /** Reloads the settings if they changed. Never rejects. */
  poll(): Promise<void> {
    this.#polling ??= this.#pollOnce().finally(() => {
      this.#polling = null;
    });
    return this.#polling;
  }

  /** Like `poll`, but runs after a poll in progress, which may have started before the change. */
  async #pollAnew(): Promise<void> {
    await this.#polling;
    await this.poll();
  }

  async #pollOnce(): Promise<void> {
    const { store, onUnreadable, onFailure } = this.#options;
    try {
      const version = await store.version();
      this.#failing = false;
      if (version === this.#version) return;
      const rows = await store.current();
      const read = rows.map(({ project, settings }) => [project, projectSettingsIn(settings)] as const);
      for (const [project, own] of read) if (own === null) onUnreadable(project);
      this.#own = new Map(
        read.flatMap(([project, own]) => (own && Object.keys(own).length > 0 ? [[project, own]] : [])),
      );
      this.#merged = new Map();
      this.#version = version;
      for (const listener of this.#listeners) listener();
    } catch (cause) {
      if (!this.#failing) onFailure('project_settings_not_read', cause);
      this.#failing = true;
      this.#retry = setTimeout(() => void this.poll(), RETRY_MS).unref();
    }
  }
}
