import type { DirectiveAction, SegmentBatch, SegmentFacts, StoredSegment } from '../../core/ports/segments.ts';
import { keysOf, SEGMENT_COLUMNS, segmentValues } from '../segment-values.ts';
import type { Budget, Part } from './bounds.ts';
import type { Statements } from './statements.ts';

/** About 50 MB; beyond it the conversations not seen for longest are deleted. */
const MAX_SEGMENTS = 100_000;
/** Rows of a conversation deleted at a time. */
const REMOVED_AT_ONCE = 100;

/** The columns of `SELECT`, accessed by position: a full store reads a hundred thousand rows for one answer. */
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
// within a continuing conversation, a text at a later index was repeated
const SAID_BEFORE = 'conversation = excluded.conversation AND (@whole = 1 OR excluded.ordinal <= ordinal)';
const NOTE = `
  INSERT INTO segment (project, task, created_ms, conversation, first_turn, seen_turn, ${SEGMENT_COLUMNS})
  VALUES (${Array(21).fill('?').join(', ')})
  ON CONFLICT (project, name) DO UPDATE SET
    first_turn = CASE WHEN ${SAID_BEFORE} THEN first_turn ELSE excluded.first_turn END,
    created_ms = CASE WHEN ${SAID_BEFORE} THEN created_ms ELSE excluded.created_ms END,
    conversation = excluded.conversation, ordinal = excluded.ordinal, seen_turn = excluded.seen_turn,
    type = excluded.type, effect = excluded.effect, tokens = excluded.tokens, about = excluded.about,
    mentions = excluded.mentions, edited = excluded.edited
  RETURNING id`;

/** The segments of conversations: facts about them, no texts. */
export class Segments {
  readonly #sql: Statements;

  constructor(sql: Statements) {
    this.#sql = sql;
  }

  /** Inside the caller's transaction. */
  note(batch: SegmentBatch): void {
    const { project, conversationId, task, turns, messages, whole, client = '', opening = '' } = batch;
    const atMs = Math.trunc(batch.atMs);
    const noted = this.#sql.get<{ id: number; turns: number }>(
      `INSERT INTO conversation (project, name, task, turns, base_turn, messages, seen_ms, client, opening)
       VALUES (?, ?, ?, ?, 1, ?, ?, ?, ?)
       ON CONFLICT (project, name) DO UPDATE SET task = excluded.task, turns = turns + excluded.turns,
         base_turn = CASE ? WHEN 1 THEN turns + excluded.turns ELSE base_turn END,
         messages = excluded.messages, seen_ms = max(seen_ms, excluded.seen_ms),
         client = CASE excluded.client WHEN '' THEN client ELSE excluded.client END,
         opening = CASE excluded.opening WHEN '' THEN opening ELSE excluded.opening END
       RETURNING id, turns`,
      [project, conversationId, task, turns, messages, atMs, client, opening, whole ? 1 : 0],
    );
    if (!noted) return;
    const { id, turns: turn } = noted;
    for (const segment of batch.segments) {
      const row = this.#sql.value(NOTE, [
        project,
        task,
        atMs,
        id,
        turn,
        turn,
        ...segmentValues(segment),
        { whole: whole ? 1 : 0 },
      ]);
      for (const pruneId of row === undefined ? [] : segment.pruneIds)
        this.#sql.run('INSERT OR IGNORE INTO segment_prune VALUES (?, ?)', [row, pruneId]);
    }
  }

  /** Newest message first. */
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
   * Deletes conversations not seen since `beforeMs`, and those beyond the bound; inside the caller's transaction.
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
