import { expect, it } from 'vitest';
import { classify } from '../../src/store/sqlite/errors.ts';

it.each(['SQLITE_FULL', 'SQLITE_IOERR_WRITE', 'SQLITE_IOERR_TRUNCATE'])(
  'a write that fails with %s leaves the connection open, so that records can still be read',
  (code) => {
    const cause = Object.assign(new Error('disk I/O error'), { name: 'SqliteError', code });
    expect(classify(cause).reopen).toBe(false);
  },
);
