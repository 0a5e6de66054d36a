import { describe, expect, it } from 'vitest';
import { sqliteDriver } from '../../src/store/sqlite/driver.ts';
import { migrate, migrations } from '../../src/store/sqlite/migrations/migrate.ts';
import { recordsContract } from '../contract/records.suite.ts';
import { openStore, tempPath } from './helpers.ts';

const Database = sqliteDriver();

recordsContract('a store on a file', async (over) => openStore(tempPath(), over));

describe('the records of a store', () => {
  it('are there in a file of an earlier version', async () => {
    const path = tempPath();
    const db = new Database(path);
    migrate(db, migrations.slice(0, 3));
    db.close();
    expect(await openStore(path).records.claimReply('t', 'k', 'h', 1)).toBeNull();
  });
});
