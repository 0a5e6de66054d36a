import { projectSettingsIn } from '../config/project-settings.ts';
import { isHeldOut } from '../core/held-out.ts';
import type { Budget } from '../core/ports/budgets.ts';
import type { ProjectSettings } from '../core/ports/project-settings.ts';
import type { FindSettings } from '../core/request/find-texts.ts';
import type { Context } from './context.ts';
import { findSettingsOf } from './pipeline.ts';

/** Poll interval for changes, so that they hold within a second on every proxy. */
const LOOK_MS = 400;
const NOTHING: ProjectSettings = {};

/** How requests of a project are treated. */
export interface Treated {
  readonly enabled: boolean;
  readonly shadow: boolean;
}

/**
 * The settings of projects, in memory. They decide about what is new: what was sent before is a record, which is replayed
 * whatever they say now. While the store is away, the last ones hold.
 */
export class ProjectBook {
  readonly #context: Context;
  readonly #lookMs: number;
  #settings = new Map<string, ProjectSettings>();
  #find = new Map<string, FindSettings>();
  #newest = 0;
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | null = null;
  #failing = false;

  constructor(context: Context, lookMs = LOOK_MS) {
    this.#context = context;
    this.#lookMs = lookMs;
  }

  /** Reads the settings now and after every change. Never rejects. */
  async start(): Promise<void> {
    this.#timer = setInterval(() => void this.look(), this.#lookMs).unref();
    await this.look();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  of(project: string): ProjectSettings {
    return this.#settings.get(project) ?? NOTHING;
  }

  /** The kill switch of the server stays above those of projects. */
  modeOf(project: string): Treated {
    const { settings } = this.#context;
    const { mode = settings.mode } = this.of(project);
    return { enabled: settings.enabled && mode !== 'off', shadow: mode === 'shadow' };
  }

  isHeldOut(conversationId: string, project: string): boolean {
    const { holdout = this.#context.settings.holdout } = this.of(project);
    return holdout > 0 && isHeldOut(conversationId, holdout);
  }

  /** Which texts of a project are looked at; `usual` without settings of its own. */
  findOf(project: string, usual: FindSettings): FindSettings {
    const own = this.#settings.get(project);
    if (own === undefined) return usual;
    const known = this.#find.get(project);
    if (known) return known;
    const { settings } = this.#context;
    const { neverPruneTools = [], neverPrunePaths = [], language = settings.reasonLanguage } = own;
    const merged = {
      ...settings,
      neverPruneTools: [...settings.neverPruneTools, ...neverPruneTools],
      neverPrunePaths: [...settings.neverPrunePaths, ...neverPrunePaths],
      reasonLanguage: language,
    };
    const found = { ...findSettingsOf(merged), recoverCommand: usual.recoverCommand };
    this.#find.set(project, found);
    return found;
  }

  budgets(): Budget[] {
    return [...this.#settings].flatMap(([name, { dollarsPerMonth: dollars }]) =>
      dollars === undefined ? [] : [{ of: 'project', name, dollars }],
    );
  }

  /** Reads the settings if they changed. Never rejects. */
  look(): Promise<void> {
    this.#looking ??= this.#look().finally(() => {
      this.#looking = null;
    });
    return this.#looking;
  }

  async #look(): Promise<void> {
    const { store, failures, log } = this.#context;
    try {
      const newest = await store.projectSettings.newest();
      this.#failing = false;
      if (newest === this.#newest) return;
      const rows = await store.projectSettings.current();
      const read = rows.map(({ project, settings }) => [project, projectSettingsIn(settings)] as const);
      for (const [project, own] of read) {
        if (own === null)
          log.warn({ project }, 'the settings of a project are not understood: a newer program wrote them');
      }
      this.#settings = new Map(
        read.flatMap(([project, own]) => (own && Object.keys(own).length > 0 ? [[project, own]] : [])),
      );
      this.#find = new Map();
      this.#newest = newest;
    } catch (cause) {
      if (!this.#failing) failures.of('keys')('project_settings_not_read', cause);
      this.#failing = true;
    }
  }
}
