import type {
  Directive,
  DirectiveAction,
  DirectiveChange,
  NotedSegment,
  ProjectConversation,
  ProjectDirectives,
  SegmentBatch,
  SegmentStore,
  Step,
  StoredConversation,
  StoredSegment,
} from '../core/ports/segments.ts';
import { plainProject } from './ledger-rows.ts';
import { all, change, each, erase, number, type Sql, type Steps, turn } from './sql/steps.ts';

const MAX_CONVERSATIONS = 1_000;
const MAX_NAMED = 100;
const STORED = 'id AS "row", name, task, turns, base_turn AS "baseTurn", messages, seen_ms AS "seenMs"';
const IN_ORDER = 'ORDER BY seen_ms DESC, id DESC LIMIT ?';
const OF_TASK = 'AND (task = ? OR EXISTS (SELECT 1 FROM main.segment WHERE conversation = c.id AND task = ?))';

/** The columns of a recorded segment in the order of `valuesOf`. */
const COLUMNS = `project, task, created_ms, conversation, first_turn, seen_turn, name, ordinal, role, type, effect, tokens,
  lines, tool, path, start_line, end_line, call_key, about, mentions, edited`;
const PUT_CONVERSATION = `
  INSERT INTO main.conversation AS c (project, name, task, turns, base_turn, messages, seen_ms, client, opening)
  VALUES (?, ?, ?, ?, 1, ?, ?, ?, ?)
  ON CONFLICT (project, name) DO UPDATE SET task = excluded.task, turns = c.turns + excluded.turns,
    base_turn = CASE WHEN ? = 1 THEN c.turns + excluded.turns ELSE c.base_turn END, messages = excluded.messages,
    seen_ms = CASE WHEN c.seen_ms < excluded.seen_ms THEN excluded.seen_ms ELSE c.seen_ms END,
    client = CASE excluded.client WHEN '' THEN c.client ELSE excluded.client END,
    opening = CASE excluded.opening WHEN '' THEN c.opening ELSE excluded.opening END
  RETURNING id, turns`;
const PUT_SEGMENTS = {
  whole: putSegments('s.conversation = excluded.conversation'),
  // a text that reappears at a later index of a continuing conversation is a repetition
  continuing: putSegments('s.conversation = excluded.conversation AND excluded.ordinal <= s.ordinal'),
};
/** Takes a seventh of an insertion's time, so only where prunes are linked. */
const RETURNING_ROW = ' RETURNING id, name';
const LINK_PRUNE = 'INSERT INTO main.segment_prune (segment, prune_id) VALUES (?, ?) ON CONFLICT DO NOTHING';

/** @param isSaidBefore - whether the conversation already had the segment at this position */
function putSegments(isSaidBefore: string): string {
  return `
    INSERT INTO main.segment AS s (${COLUMNS}) VALUES (${COLUMNS.split(',').map(() => '?')})
    ON CONFLICT (project, name) DO UPDATE SET
      first_turn = CASE WHEN ${isSaidBefore} THEN s.first_turn ELSE excluded.first_turn END,
      created_ms = CASE WHEN ${isSaidBefore} THEN s.created_ms ELSE excluded.created_ms END,
      conversation = excluded.conversation, ordinal = excluded.ordinal, seen_turn = excluded.seen_turn,
      type = excluded.type, effect = excluded.effect, tokens = excluded.tokens, about = excluded.about,
      mentions = excluded.mentions, edited = excluded.edited`;
}

/** Reads that differ between the databases. */
export interface SegmentReads extends Pick<SegmentStore, 'directivesVersion' | 'segments' | 'findSegments'> {
  /** Whether certainly no project ever had a directive; answered without a query. */
  hasNoDirectives(): boolean;
  /** Called after a write that changed directives or erased prunes, before the write's promise resolves. */
  changed(did: { readonly directives: boolean; readonly erased: number }): Promise<void>;
}

/** `SegmentStore` on the tables of either database. */
export class StoredSegments implements SegmentStore {
  readonly #sql: Sql;
  readonly #reads: SegmentReads;

  constructor(sql: Sql, reads: SegmentReads) {
    this.#sql = sql;
    this.#reads = reads;
  }

  directivesVersion(): string {
    return this.#reads.directivesVersion();
  }

  async directives(project: string, known?: number): Promise<ProjectDirectives | null> {
    if (this.#reads.hasNoDirectives()) return known === 0 ? null : { generation: 0, directives: [], steps: [] };
    if (known !== undefined) {
      const [row] = await this.#sql.all<{ readonly value: number }>(GENERATION, [project]);
      if ((row?.value ?? 0) === known) return null;
    }
    const now = await this.#sql.read(() => directivesOf(project));
    return now.generation === known ? null : now;
  }

  async change(change: DirectiveChange): Promise<void> {
    const erased = await this.#sql.write(function* (): Steps<number> {
      return yield* erasePrunes(change.project, yield* changeDirectives(change));
    });
    await this.#reads.changed({ directives: true, erased });
  }

  note(batches: readonly SegmentBatch[]): Promise<void> {
    if (batches.length === 0) return Promise.resolve();
    const noted = this.#sql.write(() => noteAll(batches), { background: 'segments' });
    return noted.then((erased) => (erased > 0 ? this.#reads.changed({ directives: false, erased }) : undefined));
  }

  segments(...page: Parameters<SegmentStore['segments']>): Promise<readonly StoredSegment[]> {
    return this.#reads.segments(...page);
  }

  findSegments(project: string, ids: readonly string[]): Promise<ReadonlyMap<string, StoredSegment>> {
    return this.#reads.findSegments(project, ids);
  }

  conversations(project: string, task?: string): Promise<readonly StoredConversation[]> {
    const [ofTask, named] = task === undefined ? ['', []] : [OF_TASK, [task, task]];
    const sql = `SELECT ${STORED} FROM main.conversation c WHERE project = ? ${ofTask} ${IN_ORDER}`;
    return this.#sql.all(sql, [project, ...named, MAX_CONVERSATIONS]);
  }

  conversationsNamed(name: string): Promise<readonly ProjectConversation[]> {
    const sql = `SELECT ${STORED}, project FROM main.conversation WHERE name = ? ${IN_ORDER}`;
    return this.#sql.all(sql, [name, MAX_NAMED]);
  }

  async prunesOf(rows: readonly number[]): Promise<ReadonlyMap<number, readonly string[]>> {
    const pairs = await this.#sql.all<{ readonly segment: number; readonly prune_id: string }>(
      'SELECT segment, prune_id FROM main.segment_prune WHERE segment IN LIST(?) ORDER BY segment, prune_id',
      [rows],
    );
    const found = new Map<number, string[]>();
    for (const { segment, prune_id } of pairs) {
      const prunes = found.get(segment);
      if (prunes) prunes.push(prune_id);
      else found.set(segment, [prune_id]);
    }
    return found;
  }
}

/** @returns the number of erased prunes */
function* noteAll(batches: readonly SegmentBatch[]): Steps<number> {
  // conversations with the same beginning share segments
  const projects = [...new Set(batches.map(({ project }) => project))].sort();
  for (const project of projects) yield* turn(`segments ${project}`);
  for (const batch of batches) yield* noteBatch(batch);
  let erased = 0;
  for (const { project, segments } of batches) {
    const gone: string[] = [];
    for (const { id, erase } of segments)
      if (erase.length > 0) gone.push(...(yield* prunesOfDeleted(project, [id], erase)));
    erased += yield* erasePrunes(project, gone);
  }
  return erased;
}

function* noteBatch(batch: SegmentBatch): Steps<void> {
  const { project, conversationId, task, turns, messages, whole, client = '', opening = '' } = batch;
  const atMs = Math.trunc(batch.atMs);
  const [noted] = yield* each<{ readonly id: number; readonly turns: number }>(PUT_CONVERSATION, [
    [project, conversationId, task, turns, messages, atMs, client, opening, whole ? 1 : 0],
  ]);
  if (!noted) return;
  const about = [project, task, atMs, noted.id, noted.turns, noted.turns];
  const segments = [...new Map(batch.segments.map((segment) => [segment.id, segment])).values()];
  const put = whole ? PUT_SEGMENTS.whole : PUT_SEGMENTS.continuing;
  const isLinked = segments.some(({ pruneIds }) => pruneIds.length > 0);
  const rows = yield* each<{ readonly id: number; readonly name: string }>(
    isLinked ? put + RETURNING_ROW : put,
    segments.map((segment) => [...about, ...valuesOf(segment)]),
  );
  const rowOf = new Map(rows.map(({ id, name }) => [name, id]));
  yield* each(
    LINK_PRUNE,
    segments.flatMap(({ id, pruneIds }) => pruneIds.map((pruneId) => [rowOf.get(id), pruneId])),
  );
}

/** Values of a segment, from the column `name` on. */
function valuesOf(segment: NotedSegment): (string | number | Buffer)[] {
  return [
    segment.id,
    segment.ordinal,
    segment.role,
    segment.type,
    segment.effect,
    Math.round(segment.tokens),
    segment.lines,
    segment.tool.toWellFormed(),
    segment.path.toWellFormed(),
    segment.startLine,
    segment.endLine,
    segment.callKey,
    bytesOf(segment.about),
    bytesOf(segment.mentions),
    bytesOf(segment.edited),
  ];
}

function bytesOf(keys: Uint32Array): Buffer {
  return Buffer.from(keys.buffer, keys.byteOffset, keys.byteLength);
}

/** Copies, because the driver's buffers may not be aligned for 32-bit numbers. */
export function keysOf(bytes: Buffer): Uint32Array {
  const keys = new Uint32Array(bytes.length >> 2);
  new Uint8Array(keys.buffer).set(bytes.subarray(0, keys.byteLength));
  return keys;
}

/** Change counter of a project's directives; 0 before the first change. */
const GENERATION = 'SELECT generation AS value FROM main.directive_generation WHERE project = ?';
const ADD = `INSERT INTO main.directive (project, segment, scope, action, up_to) VALUES (?, ?, ?, ?, ?)
  ON CONFLICT DO NOTHING`;
const ADD_STEP = `INSERT INTO main.step (project, scope, conversation, messages) VALUES (?, ?, ?, ?)
  ON CONFLICT DO NOTHING`;
/** Prunes with lines of a segment that is not deleted. */
const NEEDED = `SELECT DISTINCT p.prune_id FROM main.segment_prune p JOIN main.segment s ON s.id = p.segment
  WHERE p.prune_id IN LIST(?) AND NOT EXISTS (
    SELECT 1 FROM main.directive d
    WHERE d.project = s.project AND d.segment = s.name AND d.scope = '' AND d.action = 'delete')`;
const OWNED = `SELECT p.prune_id FROM main.prune p WHERE p.prune_id IN LIST(?)
  AND EXISTS (SELECT 1 FROM main.prune_owner o WHERE o.prune = p.id)`;
const OF_PRUNES = 'prune IN (SELECT id FROM main.prune WHERE prune_id IN LIST(?))';

interface PruneRow {
  readonly prune_id: string;
}

/** The directives of a project with their generation. */
function* directivesOf(project: string): Steps<ProjectDirectives> {
  const generation = yield* number(GENERATION, [project]);
  if (generation === 0) return { generation, directives: [], steps: [] };
  const directives = yield* all<Omit<Directive, 'upTo'> & { readonly up_to: number; readonly action: DirectiveAction }>(
    'SELECT segment, action, scope, up_to FROM main.directive WHERE project = ? ORDER BY segment, scope',
    [project],
  );
  const steps = yield* all<Step>('SELECT scope, conversation, messages FROM main.step WHERE project = ? ORDER BY id', [
    project,
  ]);
  return { generation, directives: directives.map(({ up_to, ...of }) => ({ ...of, upTo: up_to })), steps };
}

/** Changes directives. @returns the prunes of deleted segments, which the caller must erase */
function* changeDirectives({ project, set, clear, step, erase: more = [] }: DirectiveChange): Steps<string[]> {
  yield* turn(`directives ${project}`);
  const everywhere = set.filter(({ scope }) => scope === '');
  const inSteps = set.filter(({ scope }) => scope !== '');
  const cleared = [...clear, ...everywhere.map(({ segment }) => segment)];
  if (cleared.length > 0)
    yield* change('DELETE FROM main.directive WHERE project = ? AND segment IN LIST(?)', [project, cleared]);
  if (step) yield* change(ADD_STEP, [project, step.scope, step.conversation, step.messages]);
  const lastOnes = new Map(everywhere.map((directive) => [directive.segment, directive])).values();
  // an automatic step never replaces an explicit directive
  for (const directives of [[...lastOnes], inSteps]) {
    yield* each(
      ADD,
      directives.map(({ segment, scope, action, upTo }) => [project, segment, scope, action, upTo]),
    );
  }
  const deleted = set.filter(({ action }) => action === 'delete').map(({ segment }) => segment);
  return deleted.length === 0 ? [] : yield* prunesOfDeleted(project, deleted, more);
}

/** Prunes with lines of deleted segments, plus `more`, except prunes that other segments of the project need. */
function* prunesOfDeleted(project: string, segments: readonly string[], more: readonly string[]): Steps<string[]> {
  const own = yield* all<PruneRow>(
    `SELECT p.prune_id FROM main.segment_prune p JOIN main.segment s ON s.id = p.segment
     WHERE s.project = ? AND s.name IN LIST(?)`,
    [project, segments],
  );
  const found = [...new Set([...more, ...own.map(({ prune_id }) => prune_id)])];
  return without(
    found,
    yield* all<PruneRow>(`${NEEDED} AND FIRST_LINE(s.project) = ?`, [found, plainProject(project)]),
  );
}

/**
 * Erases prunes of a project, their texts unless otherwise needed, and stored answers that may contain their lines.
 * Prunes that another project owns or needs are kept for it. @returns the number of erased prunes
 */
function* erasePrunes(project: string, pruneIds: readonly string[]): Steps<number> {
  if (pruneIds.length === 0) return 0;
  const owner = plainProject(project);
  yield* change(`DELETE FROM main.recall WHERE project = ? AND ${OF_PRUNES}`, [owner, pruneIds]);
  yield* change(`DELETE FROM main.prune_owner WHERE project = ? AND ${OF_PRUNES}`, [owner, pruneIds]);
  const unowned = without(pruneIds, yield* all<PruneRow>(OWNED, [pruneIds]));
  const gone = without(unowned, yield* all<PruneRow>(NEEDED, [unowned]));
  const erased = yield* erase(gone);
  // a cut's reason may contain words of the text
  yield* each(
    'DELETE FROM main.sent WHERE body LIKE ?',
    gone.map((pruneId) => [`%${pruneId}%`]),
  );
  if (erased > 0) yield* change("DELETE FROM main.reply WHERE text LIKE '%prn!_%' ESCAPE '!'");
  return erased;
}

function without(pruneIds: readonly string[], rows: readonly PruneRow[]): string[] {
  const left = new Set(pruneIds);
  for (const { prune_id } of rows) left.delete(prune_id);
  return [...left];
}
