import { BoundedMap } from '../../base/bounded-map.ts';
import { groupBy } from '../../engine/group-by.ts';
import type {
  Directive,
  DirectiveAction,
  Directives,
  DirectivesView,
  ProjectDirectives,
  SegmentStore,
  Step,
} from '../ports/segments.ts';

/** Maximum number of projects with cached directives. */
const MAX_PROJECTS = 1_000;

/** A project's directives as of the last read. */
class ProjectView implements DirectivesView {
  readonly version: string;
  readonly generation: number;
  readonly empty: boolean;
  readonly #everywhere: ReadonlyMap<string, Directive>;
  readonly #inSteps: ReadonlyMap<string, readonly Directive[]>;
  readonly #steps: ReadonlyMap<string, readonly Step[]>;

  constructor(project: string, { generation, directives, steps }: ProjectDirectives) {
    this.generation = generation;
    this.version = `${generation} ${project}`;
    this.empty = directives.length === 0;
    const everywhere = directives.filter(({ scope }) => scope === '');
    this.#everywhere = new Map(everywhere.map((directive) => [directive.segment, directive]));
    this.#inSteps = groupBy(
      directives.filter(({ scope }) => scope !== ''),
      ({ segment }) => segment,
    );
    this.#steps = groupBy(steps, ({ conversation }) => conversation);
  }

  stepsOf(conversationId: string): readonly Step[] {
    return this.#steps.get(conversationId) ?? [];
  }

  of(segmentId: string, ordinal: number, scopes: ReadonlySet<string>): DirectiveAction | null {
    const holds = ({ upTo }: Directive): boolean => upTo < 0 || ordinal <= upTo;
    const everywhere = this.#everywhere.get(segmentId);
    if (everywhere && holds(everywhere)) return everywhere.action;
    if (scopes.size === 0) return null;
    const inStep = this.#inSteps.get(segmentId)?.find((directive) => scopes.has(directive.scope) && holds(directive));
    return inStep?.action ?? null;
  }
}

/** Cached directives of all projects, reloaded after changes by any process. */
export class DirectiveBook implements Directives {
  readonly #store: SegmentStore;
  readonly #views = new BoundedMap<string, { readonly version: string; readonly view: ProjectView }>(MAX_PROJECTS);

  constructor(store: SegmentStore) {
    this.#store = store;
  }

  known(project: string): DirectivesView | null {
    const known = this.#views.get(project);
    try {
      return known && known.version === this.#store.directivesVersion() ? known.view : null;
    } catch {
      return null; // callers that read directives get the error
    }
  }

  /** @throws StoreUnavailable if the directives cannot be read */
  async view(project: string): Promise<DirectivesView> {
    const version = this.#store.directivesVersion();
    const known = this.#views.get(project);
    if (known?.version === version) return known.view;
    // in another file, the same number may mean a different version
    const comparable = known && fileOf(known.version) === fileOf(version) ? known.view : undefined;
    const changed = await this.#store.directives(project, comparable?.generation);
    const view = changed || !comparable ? new ProjectView(project, changed ?? NONE) : comparable;
    this.#views.set(project, { version, view });
    return view;
  }
}

const NONE: ProjectDirectives = { generation: 0, directives: [], steps: [] };

function fileOf(version: string): string {
  return version.slice(0, version.indexOf('.'));
}
