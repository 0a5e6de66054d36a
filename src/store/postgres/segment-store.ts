import type {
  DirectiveChange,
  ProjectDirectives,
  SegmentBatch,
  SegmentStore,
  StoredConversation,
  StoredSegment,
} from '../../core/ports/segments.ts';
import { StoreUnavailable } from '../../errors.ts';
import { SegmentLists } from '../segment-lists.ts';
import { keysOf, SEGMENT_COLUMNS, segmentValues } from '../segment-values.ts';
import { bounded } from '../sql/rows.ts';
import type { Queryable } from './database.ts';
import type { DatabaseParts } from './database-sql.ts';
import { columnsOf } from './database-sql.ts';
import { changeDirectives, directivesOf, erasePrunes, prunesOfDeleted } from './directives.ts';
import { toPg } from './text.ts';

const WAIT_MS = 5_000;

type Keys = 'about' | 'mentions' | 'edited';
type SegmentRow = Omit<StoredSegment, Keys> & Readonly<Record<Keys, Buffer>>;

const SELECT = `
  SELECT s.id AS "row", s.name AS id, c.name AS conversation, s.task, s.ordinal, s.first_turn AS "firstTurn",
    s.seen_turn AS "seenTurn", s.created_ms AS "createdMs", s.role, s.type, s.effect, s.tokens, s.lines, s.tool, s.path,
    s.start_line AS "startLine", s.end_line AS "endLine", s.call_key AS "callKey", s.about, s.mentions, s.edited,
    (SELECT action FROM main.directive d WHERE d.project = s.project AND d.segment = s.name
     ORDER BY d.scope LIMIT 1) AS directed
  FROM main.segment s JOIN main.conversation c ON c.id = s.conversation`;

/** Segments and directives on PostgreSQL. */
export class DatabaseSegments extends SegmentLists implements SegmentStore {
  readonly #parts: DatabaseParts;

  constructor(parts: DatabaseParts) {
    super(parts.rows);
    this.#parts = parts;
  }

  directivesVersion(): string {
    return this.#parts.view.directives;
  }

  directives(project: string, known?: number): Promise<ProjectDirectives | null> {
    // no project ever had a directive, and replicas are notified of the first one: no query needed
    if (this.#parts.view.directiveGeneration === 0 && !this.#parts.database.isClosed) {
      return Promise.resolve(known === 0 ? null : { generation: 0, directives: [], steps: [] });
    }
    return directivesOf(this.#parts.database, project).then((now) => (now.generation === known ? null : now));
  }

  async change(change: DirectiveChange): Promise<void> {
    await this.#parts.database.transaction(async (client) => {
      await erasePrunes(client, change.project, await changeDirectives(client, change));
    }, WAIT_MS);
    await this.#parts.view.lookAnew();
  }

  async note(batches: readonly SegmentBatch[]): Promise<void> {
    if (batches.length === 0) return;
    const erased = await this.#parts.database.transaction(async (client) => {
      await takeTurns(client, batches);
      for (const batch of batches) await noteBatch(client, batch);
      let gone = 0;
      for (const { project, segments } of batches) {
        const prunes: string[] = [];
        for (const { id, erase } of segments) {
          if (erase.length > 0) prunes.push(...(await prunesOfDeleted(client, project, [id], erase)));
        }
        gone += await erasePrunes(client, project, prunes);
      }
      return gone;
    }, WAIT_MS);
    if (erased > 0) await this.#parts.view.lookAnew();
  }

  async segments(
    { row }: StoredConversation,
    { after, limit }: Parameters<SegmentStore['segments']>[1],
  ): Promise<readonly StoredSegment[]> {
    const rows = await this.#parts.rows.all<SegmentRow>(
      `${SELECT} WHERE s.conversation = ? AND (s.ordinal, s.id) < (?, ?) ORDER BY s.ordinal DESC, s.id DESC LIMIT ?`,
      [row, after?.ordinal ?? Number.MAX_SAFE_INTEGER, after?.row ?? 0, bounded(limit)],
    );
    return rows.map(segmentOf);
  }

  async findSegments(project: string, ids: readonly string[]): Promise<ReadonlyMap<string, StoredSegment>> {
    if (ids.length === 0) {
      if (this.#parts.database.isClosed) throw new StoreUnavailable('closed');
      return new Map();
    }
    const rows = await this.#parts.rows.all<SegmentRow>(`${SELECT} WHERE s.project = ? AND s.name IN LIST(?)`, [
      project,
      ids,
    ]);
    const found = new Map(rows.map((row) => [row.id, segmentOf(row)]));
    return new Map(
      ids.flatMap((id) => {
        const segment = found.get(id);
        return segment ? [[id, segment]] : [];
      }),
    );
  }
}

/**
 * Serialises recording of a project's segments: conversations with the same beginning share segments, so two
 * transactions that record several of them could deadlock.
 */
async function takeTurns(client: Queryable, batches: readonly SegmentBatch[]): Promise<void> {
  const projects = [...new Set(batches.map(({ project }) => toPg(project)))].sort();
  await client.query(
    `SELECT pg_advisory_xact_lock(hashtext('mcp_pruner.segment'), hashtext(p)) FROM unnest($1::text[]) WITH ORDINALITY u (p, n)
     ORDER BY n`,
    [projects],
  );
}

async function noteBatch(client: Queryable, batch: SegmentBatch): Promise<void> {
  const { project, conversationId, task, turns, messages, whole, client: product = '', opening = '' } = batch;
  const atMs = Math.trunc(batch.atMs);
  const [noted] = await client.query<{ id: number; turns: number }>(
    `INSERT INTO mcp_pruner.conversation AS c (project, name, task, turns, base_turn, messages, seen_ms, client, opening)
     VALUES ($1, $2, $3, $4, 1, $5, $6, $8, $9)
     ON CONFLICT (project, name) DO UPDATE SET task = excluded.task, turns = c.turns + excluded.turns,
       base_turn = CASE WHEN $7 THEN c.turns + excluded.turns ELSE c.base_turn END,
       messages = excluded.messages, seen_ms = greatest(c.seen_ms, excluded.seen_ms),
       client = CASE excluded.client WHEN '' THEN c.client ELSE excluded.client END,
       opening = CASE excluded.opening WHEN '' THEN c.opening ELSE excluded.opening END
     RETURNING id, turns`,
    [
      ...[toPg(project), toPg(conversationId), toPg(task), turns, messages, atMs, whole],
      ...[toPg(product), toPg(opening)],
    ],
  );
  const segments = [...new Map(batch.segments.map((segment) => [segment.id, segment])).values()];
  if (!noted || segments.length === 0) return;
  const rows = await client.query<{ id: number; name: string }>(NOTE, [
    toPg(project),
    toPg(task),
    atMs,
    noted.id,
    noted.turns,
    ...columnsOf(segments.map(segmentValues), SEGMENT_COLUMNS.split(', ').length),
    whole,
  ]);
  const rowOf = new Map(rows.map(({ id, name }) => [name, id]));
  const pairs = segments.flatMap(({ id, pruneIds }) =>
    pruneIds.map((pruneId) => [rowOf.get(toPg(id)), pruneId] as const),
  );
  if (pairs.length === 0) return;
  await client.query(
    `INSERT INTO mcp_pruner.segment_prune SELECT * FROM unnest($1::bigint[], $2::text[]) ON CONFLICT DO NOTHING`,
    [pairs.map(([row]) => row), pairs.map(([, pruneId]) => pruneId)],
  );
}

// within a continuing conversation, a text at a later index was repeated
const SAID_BEFORE = 's.conversation = excluded.conversation AND ($21::boolean OR excluded.ordinal <= s.ordinal)';
/** Ordered by name, so that two transactions with the same segments never deadlock. */
const NOTE = `
  INSERT INTO mcp_pruner.segment AS s (project, task, created_ms, conversation, first_turn, seen_turn, ${SEGMENT_COLUMNS})
  SELECT $1, $2, $3, $4, $5, $5, x.* FROM unnest($6::text[], $7::bigint[], $8::text[], $9::text[], $10::text[],
    $11::bigint[], $12::bigint[], $13::text[], $14::text[], $15::bigint[], $16::bigint[], $17::bigint[],
    $18::bytea[], $19::bytea[], $20::bytea[]) x (name) ORDER BY 7
  ON CONFLICT (project, name) DO UPDATE SET
    first_turn = CASE WHEN ${SAID_BEFORE} THEN s.first_turn ELSE excluded.first_turn END,
    created_ms = CASE WHEN ${SAID_BEFORE} THEN s.created_ms ELSE excluded.created_ms END,
    conversation = excluded.conversation, ordinal = excluded.ordinal, seen_turn = excluded.seen_turn,
    type = excluded.type, effect = excluded.effect, tokens = excluded.tokens, about = excluded.about,
    mentions = excluded.mentions, edited = excluded.edited
  RETURNING id, name`;

function segmentOf(row: SegmentRow): StoredSegment {
  return { ...row, about: keysOf(row.about), mentions: keysOf(row.mentions), edited: keysOf(row.edited) };
}
