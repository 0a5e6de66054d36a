import type { FailureReporter } from 'mcp-pruner/base/failures.ts';
import type { ContextActions, Outcome, Who } from 'mcp-pruner/core/ports/context-gc.ts';
import type { Directive, SegmentStore, StoredSegment } from 'mcp-pruner/core/ports/segments.ts';
import type { Clock, EventRecord, Store } from 'mcp-pruner/core/ports.ts';
import { stashId } from 'mcp-pruner/core/segments/text-segments.ts';
import { verifiedHistoryProject } from 'mcp-pruner/core/segments/verified-history-project.ts';
import { groupBy } from 'mcp-pruner/engine/group-by.ts';
import { type Analysis, type AnalyzeInput, analyze } from './analyze.ts';
import { freedBy } from './sweep.ts';
import { segmentsEvent } from './take-step.ts';

interface ContextGcOptions {
  readonly store: SegmentStore;
  readonly events: Pick<Store, 'addEvents'>;
  readonly clock: Clock;
  /** Writes observed requests that are still in memory. */
  readonly flush: () => Promise<void>;
  /** Called if the event of a completed action could not be stored. */
  readonly onFailure: FailureReporter;
}

/** Number of conversations that cannot be changed because their provider verifies the history. */
export interface WithBound {
  readonly bound: number;
}

/** The operations of agents and users on a project's segments. */
export class ContextGc implements ContextActions {
  readonly #options: ContextGcOptions;

  constructor(options: ContextGcOptions) {
    this.#options = options;
  }

  /** Read-only. */
  async analyze(input: AnalyzeInput): Promise<Analysis & WithBound> {
    const { store, clock, flush } = this.#options;
    await flush();
    const analysis = await analyze(store, input, clock.nowMs());
    const bound = await store.conversations(
      verifiedHistoryProject(input.project),
      analysis.taskUnknown ? undefined : input.task,
    );
    return { ...analysis, bound: bound.length };
  }

  /**
   * Stashes segments, recoverable by their markers, or deletes them permanently. Effective with the next request.
   *
   * @throws StoreUnavailable, and then nothing was changed
   */
  async prune(
    project: string,
    ids: readonly string[],
    action: 'stash' | 'delete',
    by: Who = 'agent',
  ): Promise<Outcome> {
    const done = action === 'stash' ? 'stashed' : 'deleted';
    const judge = (segment: StoredSegment): Verdict => {
      if (segment.directed === 'pin') return { error: `Segment ${segment.id} is pinned; unpin it first.` };
      if (segment.directed === 'delete') {
        return action === 'delete' ? 'already' : { error: `Segment ${segment.id} was deleted.` };
      }
      if (action === 'delete') return 'change';
      if (segment.directed === 'stash' || segment.directed === 'aside') return 'already';
      return freedBy(segment) > 0
        ? 'change'
        : { error: `Segment ${segment.id} is no larger than the marker that would take its place; left as it is.` };
    };
    const { change, ...outcome } = await this.#judge(project, ids, judge, MAKE_ROOM);
    const set = change.map((segment): Directive => directiveFor(segment, action));
    const erase = action === 'delete' ? change.map(({ id }) => stashId(project, id)) : [];
    if (set.length > 0) await this.#options.store.change({ project, set, clear: [], erase });
    const tokens = change.reduce((sum, segment) => sum + (segment.directed === null ? freedNow(segment) : 0), 0);
    await this.#record(project, done, change, by);
    return { ...outcome, tokens };
  }

  /** Keeps segments whole, restoring stashed ones; effective with the next request. @throws StoreUnavailable */
  async pin(project: string, ids: readonly string[], by: Who = 'agent'): Promise<Outcome> {
    const { change, ...outcome } = await this.#judge(
      project,
      ids,
      ({ id, directed }) => {
        if (directed === 'delete') return { error: `Segment ${id} was deleted and cannot be pinned.` };
        return directed === 'pin' ? 'already' : 'change';
      },
      HAVE_BACK,
    );
    const set = change.map(({ id }): Directive => ({ segment: id, action: 'pin', scope: '', upTo: -1 }));
    if (set.length > 0) await this.#options.store.change({ project, set, clear: [] });
    await this.#record(project, 'pinned', change, by);
    return { ...outcome, tokens: 0 };
  }

  /** Allows segments to be pruned again. @throws StoreUnavailable */
  async unpin(project: string, ids: readonly string[], by: Who = 'agent'): Promise<Outcome> {
    const { change, ...outcome } = await this.#judge(project, ids, ({ directed }) =>
      directed === 'pin' ? 'change' : 'already',
    );
    if (change.length > 0) await this.#options.store.change({ project, set: [], clear: change.map(({ id }) => id) });
    await this.#record(project, 'unpinned', change, by);
    return { ...outcome, tokens: 0 };
  }

  async #judge(
    project: string,
    ids: readonly string[],
    judge: (segment: StoredSegment) => Verdict,
    instead = '',
  ): Promise<{ done: string[]; errors: string[]; change: StoredSegment[] }> {
    await this.#options.flush();
    const wanted = [...new Set(ids)];
    const found = await this.#options.store.findSegments(project, wanted);
    const unknown = wanted.filter((id) => !found.has(id));
    const bound = await this.#options.store.findSegments(verifiedHistoryProject(project), unknown);
    const notFound = (id: string): string =>
      bound.has(id)
        ? `Segment ${id} ${BOUND} ${instead}`.trim()
        : `Segment ${id.slice(0, 100)} not found in project ${project}.`;
    const done: string[] = [];
    const errors: string[] = [];
    const change: StoredSegment[] = [];
    for (const id of wanted) {
      const segment = found.get(id);
      const verdict = segment ? judge(segment) : { error: notFound(id) };
      if (typeof verdict === 'object') errors.push(verdict.error);
      else done.push(id);
      if (segment && verdict === 'change') change.push(segment);
    }
    return { done, errors, change };
  }

  /** Records one event per conversation. The action is not undone if its event cannot be stored. */
  async #record(project: string, kind: string, segments: readonly StoredSegment[], by: Who): Promise<void> {
    const tsMs = this.#options.clock.nowMs();
    const events = [...groupBy(segments, ({ conversation }) => conversation)].map(([runId, list]) => {
      const tokens = list.reduce((sum, segment) => sum + segment.tokens, 0);
      return segmentsEvent({ tsMs, kind, runId, opId: null }, { project, by }, list, { tokens });
    });
    if (events.length === 0) return;
    const erased: EventRecord[] =
      kind === 'deleted' ? events.map((event) => ({ ...event, kind: 'erased', audit: true as const })) : [];
    await this.#options.events
      .addEvents([...events, ...erased])
      .catch((cause: unknown) => this.#options.onFailure('event_not_kept', cause));
  }
}

const BOUND = 'stays as it was sent: the provider of its conversation refuses changes to earlier messages.';
const MAKE_ROOM = "To make room, use the client's own compaction (/compact in Claude Code) or begin a new session.";
const HAVE_BACK = 'To get back lines that were cut, call recover_text.';

/** `already` means that the segment has the requested state. */
type Verdict = 'change' | 'already' | { readonly error: string };

/** Limited to earlier messages for user and assistant words: repetitions after a stash are new text. */
function directiveFor({ id, role, ordinal }: StoredSegment, action: 'stash' | 'delete'): Directive {
  const upTo = action === 'stash' && role !== 'tool' ? ordinal : -1;
  return { segment: id, action, scope: '', upTo };
}

function freedNow(segment: StoredSegment): number {
  return Math.max(0, freedBy(segment));
}
