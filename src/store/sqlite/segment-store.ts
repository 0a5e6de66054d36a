import { setTimeout as sleep } from 'node:timers/promises';
import type {
  DirectiveChange,
  ProjectDirectives,
  SegmentBatch,
  SegmentStore,
  StoredConversation,
  StoredSegment,
} from '../../core/ports/segments.ts';
import { SegmentLists } from '../segment-lists.ts';
import { bounded } from '../sql/rows.ts';
import { type Access, BACKGROUND_WAIT_MS } from './access.ts';
import type { ConnectionHolder } from './connection-holder.ts';
import type { Tables } from './tables.ts';

const CHECKPOINT_TRIES = 5;
const CHECKPOINT_PAUSE_MS = 20;

/** Segments and directives on the store's file. */
export class FileSegmentStore extends SegmentLists implements SegmentStore {
  readonly #access: Access;
  readonly #holder: ConnectionHolder;
  /** The version read in this turn of the event loop: concurrent requests need only one read. */
  #version: string | null = null;

  constructor(access: Access, holder: ConnectionHolder) {
    super(access);
    this.#access = access;
    this.#holder = holder;
  }

  directivesVersion(): string {
    if (this.#version !== null) return this.#version;
    try {
      const generation = this.#holder.connection().tables.meter('directive_generation');
      this.#version = `${this.#holder.serial}.${generation}`;
      setImmediate(() => {
        this.#version = null;
      });
      return this.#version;
    } catch (cause) {
      throw this.#holder.failed(cause);
    }
  }

  directives(project: string, known?: number): Promise<ProjectDirectives | null> {
    return this.#access.read(({ directives }) =>
      directives.generation(project) === known ? null : directives.ofProject(project),
    );
  }

  async change(change: DirectiveChange): Promise<void> {
    const erased = await this.#access.write(
      (tables) => erase(tables, change.project, tables.directives.change(change)),
      {
        verify: true,
      },
    );
    this.#version = null;
    if (erased > 0) await this.#emptyLog();
  }

  async note(batches: readonly SegmentBatch[]): Promise<void> {
    if (batches.length === 0) return;
    const erased = await this.#access.write(
      (tables) => {
        const { segments, directives } = tables;
        for (const batch of batches) segments.note(batch);
        let erased = 0;
        for (const { project, segments: noted } of batches) {
          const gone = noted.flatMap(({ id, erase: prunes }) =>
            prunes.length > 0 ? directives.ofDeleted(project, id, prunes) : [],
          );
          erased += erase(tables, project, gone);
        }
        return erased;
      },
      { waitMs: BACKGROUND_WAIT_MS },
    );
    this.#version = null;
    if (erased > 0) await this.#emptyLog();
  }

  segments(
    { row }: StoredConversation,
    { after, limit }: Parameters<SegmentStore['segments']>[1],
  ): Promise<readonly StoredSegment[]> {
    return this.#access.read(({ segments }) => segments.page(row, after, bounded(limit)));
  }

  findSegments(project: string, ids: readonly string[]): Promise<ReadonlyMap<string, StoredSegment>> {
    return this.#access.read(({ segments }) => {
      const found = new Map<string, StoredSegment>();
      for (const id of ids) {
        const segment = segments.find(project, id);
        if (segment) found.set(id, segment);
      }
      return found;
    });
  }

  /** Erased text remains in the write-ahead log until a checkpoint, which another reader may delay. */
  async #emptyLog(): Promise<void> {
    for (let tries = 0; tries < CHECKPOINT_TRIES; tries++) {
      const done = await this.#access.maintain((connection) => connection.checkpoint()).catch(() => false); // busy: tried again below
      if (done) return;
      await sleep(CHECKPOINT_PAUSE_MS);
    }
  }
}

/**
 * Erases prunes of a project, and stored answers that may contain their lines. Prunes that also belong to another
 * project stay with that one. Returns the number of erased prunes.
 */
function erase(
  { decisions, directives, owners, recall, replies, sent }: Tables,
  project: string,
  pruneIds: readonly string[],
): number {
  if (pruneIds.length === 0) return 0;
  const [owner = ''] = project.split('\n', 1); // history-bound conversations have a suffix after a line break
  recall.forget(owner, pruneIds);
  const gone = owners.release(owner, pruneIds).filter((pruneId) => !directives.isNeeded(pruneId));
  const erased = decisions.erase(gone);
  if (erased > 0) replies.forgetPrunes();
  for (const pruneId of gone) sent.forget(pruneId);
  return erased;
}
