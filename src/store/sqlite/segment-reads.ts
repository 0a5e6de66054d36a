import { setTimeout as sleep } from 'node:timers/promises';
import type { SegmentStore, StoredSegment } from '../../core/ports/segments.ts';
import type { SegmentReads } from '../segments.ts';
import { bounded } from '../sql/rows.ts';
import type { Access } from './access.ts';
import type { ConnectionHolder } from './connection-holder.ts';

const CHECKPOINT_TRIES = 5;
const CHECKPOINT_PAUSE_MS = 20;

/** Segments are read by position, which takes half the time of reading them by name. */
export class FileSegmentReads implements SegmentReads {
  readonly #access: Access;
  readonly #holder: ConnectionHolder;
  /** The version read in this turn of the event loop: concurrent requests need only one read. */
  #version: string | null = null;

  constructor(access: Access, holder: ConnectionHolder) {
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

  hasNoDirectives(): boolean {
    return false;
  }

  async changed({ erased }: { readonly erased: number }): Promise<void> {
    this.#version = null;
    // erased text remains in the write-ahead log until a checkpoint, which another reader may delay
    for (let tries = 0; erased > 0 && tries < CHECKPOINT_TRIES; tries++) {
      const done = await this.#access.maintain((connection) => connection.checkpoint()).catch(() => false); // busy: tried again below
      if (done) return;
      await sleep(CHECKPOINT_PAUSE_MS);
    }
  }

  segments(...[{ row }, { after, limit }]: Parameters<SegmentStore['segments']>): Promise<readonly StoredSegment[]> {
    return this.#access.read(({ segments }) => segments.page(row, after, bounded(limit)));
  }

  findSegments(project: string, ids: readonly string[]): Promise<ReadonlyMap<string, StoredSegment>> {
    return this.#access.read(({ segments }) => {
      const found = ids.map((id) => [id, segments.find(project, id)] as const);
      return new Map(found.flatMap(([id, segment]) => (segment ? [[id, segment]] : [])));
    });
  }
}
