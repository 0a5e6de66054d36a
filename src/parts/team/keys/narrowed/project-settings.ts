import type { ProjectSettingsRow, ProjectSettingsStore } from '../../../../core/ports/project-settings.ts';
import { Narrowed, unsupported } from './narrowed.ts';

/** Settings of projects, narrowed to some of them. */
export class NarrowedProjectSettings extends Narrowed<ProjectSettingsStore> implements ProjectSettingsStore {
  /** Only operators change settings. */
  set = unsupported;

  version(): Promise<number> {
    return this.unscoped.version();
  }

  onChanged(listener: () => void): () => void {
    return this.unscoped.onChanged(listener);
  }

  async current(): Promise<readonly ProjectSettingsRow[]> {
    return (await this.unscoped.current()).filter(({ project }) => this.ownProjects.includes(project));
  }

  async history(project: string, limit: number): Promise<readonly ProjectSettingsRow[]> {
    return this.ownProjects.includes(project) ? this.unscoped.history(project, limit) : [];
  }
}
