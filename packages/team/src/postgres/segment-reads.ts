import type { SegmentStore, StoredSegment } from 'mcp-pruner/core/ports/segments.ts';
import { StoreUnavailable } from 'mcp-pruner/errors/errors.ts';
import { keysOf, type SegmentReads } from 'mcp-pruner/store/segments.ts';
import { bounded } from 'mcp-pruner/store/sql/steps.ts';
import type { DatabaseParts } from './database-sql.ts';

type Keys = 'about' | 'mentions' | 'edited';
type SegmentRow = Omit<StoredSegment, Keys> & Readonly<Record<Keys, Buffer>>;

const SELECT = `
  SELECT s.id AS "row", s.name AS id, c.name AS conversation, s.task, s.ordinal, s.first_turn AS "firstTurn",
    s.seen_turn AS "seenTurn", s.created_ms AS "createdMs", s.role, s.type, s.effect, s.tokens, s.lines, s.tool, s.path,
    s.start_line AS "startLine", s.end_line AS "endLine", s.call_key AS "callKey", s.about, s.mentions, s.edited,
    (SELECT action FROM main.directive d WHERE d.project = s.project AND d.segment = s.name
     ORDER BY d.scope LIMIT 1) AS directed
  FROM main.segment s JOIN main.conversation c ON c.id = s.conversation`;

/** Replicas are notified of directive changes, so that most versions are known without a query. */
export class DatabaseSegmentReads implements SegmentReads {
  readonly #parts: DatabaseParts;

  constructor(parts: DatabaseParts) {
    this.#parts = parts;
  }

  directivesVersion(): string {
    return this.#parts.view.directives;
  }

  hasNoDirectives(): boolean {
    return this.#parts.view.directiveGeneration === 0 && !this.#parts.database.isClosed;
  }

  async changed({ directives, erased }: { readonly directives: boolean; readonly erased: number }): Promise<void> {
    if (directives || erased > 0) await this.#parts.view.pollAnew();
  }

  async segments(
    ...[{ row }, { after, limit }]: Parameters<SegmentStore['segments']>
  ): Promise<readonly StoredSegment[]> {
    const rows = await this.#parts.rows.all<SegmentRow>(
      `${SELECT} WHERE s.conversation = ? AND (s.ordinal, s.id) < (?, ?) ORDER BY s.ordinal DESC, s.id DESC LIMIT ?`,
      [row, after?.ordinal ?? Number.MAX_SAFE_INTEGER, after?.row ?? 0, bounded(limit)],
    );
    return rows.map(segmentOf);
  }

  async findSegments(project: string, ids: readonly string[]): Promise<ReadonlyMap<string, StoredSegment>> {
    if (this.#parts.database.isClosed) throw new StoreUnavailable('closed');
    if (ids.length === 0) return new Map();
    const rows = await this.#parts.rows.all<SegmentRow>(`${SELECT} WHERE s.project = ? AND s.name IN LIST(?)`, [
      project,
      ids,
    ]);
    const found = new Map(rows.map((row) => [row.id, segmentOf(row)]));
    return new Map(ids.flatMap((id) => found.get(id) ?? []).map((segment) => [segment.id, segment]));
  }
}

function segmentOf(row: SegmentRow): StoredSegment {
  return { ...row, about: keysOf(row.about), mentions: keysOf(row.mentions), edited: keysOf(row.edited) };
}
