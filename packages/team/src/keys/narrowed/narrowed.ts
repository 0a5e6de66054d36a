import { StoreUnavailable } from 'mcp-pruner/errors/errors.ts';

/** A port, narrowed to some projects. */
export abstract class Narrowed<Port> {
  protected readonly unscoped: Port;
  protected readonly ownProjects: readonly string[];

  constructor(unscoped: Port, ownProjects: readonly string[]) {
    this.unscoped = unscoped;
    this.ownProjects = ownProjects;
  }

  /** Queries the port for each of the viewer's projects, or only for `project` if it is one of them. */
  protected async ofEach<Found>(
    project: string | undefined,
    find: (project: string) => Promise<Found>,
  ): Promise<readonly Found[]> {
    return Promise.all(this.ownProjects.filter((own) => project === undefined || own === project).map(find));
  }
}

/** Implementation of methods that viewers must not use. */
export function unsupported(): Promise<never> {
  return Promise.reject(new StoreUnavailable('unsupported'));
}
