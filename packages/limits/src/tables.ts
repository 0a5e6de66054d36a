import type { PartTables } from 'mcp-pruner/store/part-tables.ts';
import { change, number, type Steps } from 'mcp-pruner/store/sql/steps.ts';

/**
 * A reading: the state of one window of an account after one answer, with the request's session, project and key.
 * `used` is in millionths of the window, `weight` in hundredths of a billed input token. An erased project is empty.
 */
const TABLES = `
  CREATE TABLE main.limit_reading (
    id INTEGER PRIMARY KEY,
    account TEXT NOT NULL,
    provider TEXT NOT NULL,
    plan TEXT,
    name TEXT NOT NULL,
    minutes INTEGER NOT NULL,
    resets_s INTEGER NOT NULL,
    used INTEGER NOT NULL,
    status TEXT,
    request TEXT NOT NULL,
    project TEXT NOT NULL,
    session TEXT NOT NULL,
    conversation TEXT NOT NULL,
    key_id TEXT NOT NULL,
    model TEXT NOT NULL,
    started_ms INTEGER NOT NULL,
    ended_ms INTEGER NOT NULL,
    weight INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX limit_reading_reset ON main.limit_reading (resets_s);
  CREATE INDEX limit_reading_ended ON main.limit_reading (ended_ms);
`;

/** Columns of a new reading. */
export const READING_COLUMNS =
  'account provider plan name minutes resets_s used status request project session conversation key_id model started_ms ended_ms weight'.split(
    ' ',
  );

/** Default retention, and the maximum number of readings. */
const TTL_MS = 180 * 86_400_000;
const MAX_READINGS = 300_000;

export const limitTables: PartTables = {
  common: TABLES,
  sqlite: '',
  postgres: async () => '',
  moved: [
    [
      'limit_reading',
      'id',
      `id ${READING_COLUMNS.join(' ')}`,
      'project session conversation key_id model request',
      1_000,
    ],
  ],
  numbered: { limit_reading: 'id' },
  afterMove: [],
  *eraseNames(subject): Steps<void> {
    const blank = "UPDATE main.limit_reading SET project = '', session = '', conversation = '', key_id = '' WHERE";
    if ('payer' in subject) {
      yield* change(`${blank} key_id = ? AND key_id <> ''`, [subject.payer]);
    } else if (subject.conversations === 'all') {
      yield* change(`${blank} project = ?`, [subject.project]);
    } else {
      yield* change(`${blank} project = ? AND conversation IN LIST(?)`, [subject.project, subject.conversations]);
    }
  },
  *sweep(nowMs, ttlMs, limit): Steps<number> {
    const old = 'SELECT id FROM main.limit_reading WHERE ended_ms < ? ORDER BY ended_ms LIMIT ?';
    const expired = yield* change(`DELETE FROM main.limit_reading WHERE id IN (${old})`, [
      Math.trunc(nowMs - (ttlMs ?? TTL_MS)),
      limit,
    ]);
    const newest = yield* number('SELECT coalesce(max(id), 0) AS value FROM main.limit_reading');
    const surplus = 'SELECT id FROM main.limit_reading WHERE id <= ? ORDER BY id LIMIT ?';
    return (
      expired +
      (yield* change(`DELETE FROM main.limit_reading WHERE id IN (${surplus})`, [newest - MAX_READINGS, limit]))
    );
  },
};
