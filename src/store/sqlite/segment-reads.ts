import { setTimeout as sleep } from 'node:timers/promises';
import type { DirectiveAction, SegmentFacts, SegmentStore, StoredSegment } from '../../core/ports/segments.ts';
import { keysOf, type SegmentReads } from '../segments.ts';
import { bounded } from '../sql/steps.ts';
import type { Access } from './access.ts';
import type { Generations } from './generations.ts';
import type { Statements } from './statements.ts';
import type { Budget, Part } from './sweep.ts';

const CHECKPOINT_TRIES = 5;
const CHECKPOINT_PAUSE_MS = 20;

/** Rows are read by position, which is twice as fast as by name. */
export class FileSegmentReads implements SegmentReads {
  readonly #access: Access;
  readonly #generations: Generations;

  constructor(access: Access, generations: Generations) {
    this.#access = access;
    this.#generations = generations;
  }

  directivesVersion(): string {
    return this.#generations.now.directives;
  }

  hasNoDirectives(): boolean {
    return false;
  }

  async changed({ erased }: { readonly erased: number }): Promise<void> {
    this.#generations.forget();
    // erased text remains in the write-ahead log until a checkpoint, which other readers may delay
    for (let tries = 0; erased > 0 && tries < CHECKPOINT_TRIES; tries++) {
      const done = await this.#access.maintain((connection) => connection.checkpoint()).catch(() => false); // busy: retried below
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

/** About 50 MB. Beyond it, the least recently seen conversations are deleted. */
const MAX_SEGMENTS = 100_000;
/** Rows of a conversation deleted per step. */
const REMOVED_AT_ONCE = 100;

/** Columns of `SELECT`, accessed by position because one answer may read a hundred thousand rows. */
type SegmentRow = readonly [
  row: number,
  id: string,
  conversation: string,
  task: string,
  ordinal: number,
  firstTurn: number,
  seenTurn: number,
  createdMs: number,
  role: SegmentFacts['role'],
  type: SegmentFacts['type'],
  effect: SegmentFacts['effect'],
  tokens: number,
  lines: number,
  tool: string,
  path: string,
  startLine: number,
  endLine: number,
  callKey: number,
  aboutBytes: number,
  mentionsBytes: number,
  keys: Buffer,
  action: DirectiveAction | null,
];

const SELECT = `
  SELECT s.id, s.name, c.name, s.task, s.ordinal, s.first_turn, s.seen_turn, s.created_ms, s.role, s.type, s.effect,
    s.tokens, s.lines, s.tool, s.path, s.start_line, s.end_line, s.call_key, length(s.about), length(s.mentions),
    CAST(s.about || s.mentions || s.edited AS BLOB),
    (SELECT action FROM directive d WHERE d.project = s.project AND d.segment = s.name ORDER BY d.scope LIMIT 1)
  FROM segment s JOIN conversation c ON c.id = s.conversation`;
const PAGE = `${SELECT} WHERE s.conversation = ? AND (s.ordinal, s.id) < (?, ?) ORDER BY s.ordinal DESC, s.id DESC LIMIT ?`;
const ONE = `${SELECT} WHERE s.project = ? AND s.name = ?`;
const OLDEST = 'SELECT id, seen_ms FROM conversation ORDER BY seen_ms LIMIT 1';
const REMOVE =
  'DELETE FROM segment WHERE id IN (SELECT id FROM segment WHERE conversation = ? ORDER BY ordinal, id LIMIT ?)';
/** Stored segments of conversations: facts only, no texts. */
export class Segments {
  readonly #sql: Statements;

  constructor(sql: Statements) {
    this.#sql = sql;
  }

  /** Segments, newest message first. */
  page(
    conversation: number,
    after: Pick<StoredSegment, 'ordinal' | 'row'> | undefined,
    limit: number,
  ): StoredSegment[] {
    const { ordinal, row } = after ?? { ordinal: Number.MAX_SAFE_INTEGER, row: 0 };
    return this.#sql.tuples<SegmentRow>(PAGE, [conversation, ordinal, row, limit]).map(segmentOf);
  }

  find(project: string, id: string): StoredSegment | undefined {
    const [row] = this.#sql.tuples<SegmentRow>(ONE, [project, id]);
    return row && segmentOf(row);
  }

  /**
   * Deletes conversations not seen since `beforeMs` or beyond the limit, inside the caller's transaction.
   *
   * @param onGone - called for each deleted conversation
   */
  expire(beforeMs: number, budget: Budget, onGone: (conversation: number) => void): Part {
    const next = () => this.#sql.get<{ id: number; seen_ms: number }>(OLDEST);
    let excess = (this.#sql.value('SELECT count(*) FROM segment') ?? 0) - MAX_SEGMENTS;
    let done = 0;
    for (let oldest = next(); oldest; oldest = next()) {
      if (oldest.seen_ms > beforeMs && excess <= 0) break;
      if (!budget.take()) return { done, more: true };
      const removed = this.#sql.run(REMOVE, [oldest.id, REMOVED_AT_ONCE]);
      done += removed;
      excess -= removed;
      if (removed >= REMOVED_AT_ONCE) continue;
      onGone(oldest.id);
      this.#sql.run('DELETE FROM conversation WHERE id = ?', [oldest.id]);
    }
    return { done, more: false };
  }
}

function segmentOf([
  row,
  id,
  conversation,
  task,
  ordinal,
  firstTurn,
  seenTurn,
  createdMs,
  role,
  type,
  effect,
  tokens,
  lines,
  tool,
  path,
  startLine,
  endLine,
  callKey,
  aboutBytes,
  mentionsBytes,
  bytes,
  directed,
]: SegmentRow): StoredSegment {
  const keys = keysOf(bytes);
  const mentionsFrom = aboutBytes >> 2;
  const editedFrom = mentionsFrom + (mentionsBytes >> 2);
  return {
    row,
    id,
    conversation,
    task,
    ordinal,
    firstTurn,
    seenTurn,
    createdMs,
    role,
    type,
    effect,
    tokens,
    lines,
    tool,
    path,
    startLine,
    endLine,
    callKey,
    about: keys.subarray(0, mentionsFrom),
    mentions: keys.subarray(mentionsFrom, editedFrom),
    edited: keys.subarray(editedFrom),
    directed,
  };
}
