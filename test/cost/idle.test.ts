import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { openServices } from '../../src/app/compose.ts';
import { openContext } from '../../src/app/context.ts';
import { edition } from '../../src/edition.ts';
import { createLog } from '../../src/observe/log.ts';
import { tempFolder } from '../helpers/afterwards.ts';
import { countedSql } from '../helpers/counted-sql.ts';
import { settingsOf } from '../helpers/proxy.ts';

const SECONDS = 20;

beforeEach(() => {
  vi.useFakeTimers({
    toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'setImmediate', 'performance'],
  });
});
afterEach(() => {
  vi.useRealTimers();
});

describe('an idle server', () => {
  it('opens no transaction, and executes at most one statement a second', async () => {
    const path = join(tempFolder(), 'store.db');
    const counts = countedSql(path);
    const context = await openContext({
      edition,
      settings: settingsOf({ MCP_PRUNER_DB_PATH: path }),
      log: createLog({ level: 'silent', fd: 2 }),
      version: '0.0.0-test',
      clock: { nowMs: () => performance.now() },
    });
    const services = await openServices(context);
    await services.projectBook.start();
    await vi.advanceTimersByTimeAsync(SECONDS * 1_000);
    // the start may have left work for later
    for (let i = 0; i < 3; i++) {
      counts.reset();
      await vi.advanceTimersByTimeAsync(SECONDS * 1_000);
      if (counts.transactions === 0) break;
    }
    counts.reset();
    await vi.advanceTimersByTimeAsync(SECONDS * 1_000);
    expect(counts.transactions).toBe(0);
    expect(counts.statements).toBeLessThanOrEqual(SECONDS);
    vi.useRealTimers();
    await services.close();
  });
});
