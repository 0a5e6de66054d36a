import { openStore } from 'mcp-pruner/app/store.ts';
import { edition } from 'mcp-pruner/edition.ts';
import { sqliteDriver } from 'mcp-pruner/store/sqlite/driver.ts';
import { describe, expect, it } from 'vitest';
import { chatBody } from '../../../test/helpers/chat.ts';
import { json, startUpstream } from '../../../test/helpers/fake-upstream.ts';
import { hasPostgres, newDatabase, runSql } from '../../../test/helpers/postgres.ts';
import { settingsOf, startProxy } from '../../../test/helpers/proxy.ts';
import { until } from '../../../test/helpers/until.ts';
import { readReport } from '../src/ledger.ts';

const REFUSED = 'refused';

/** Makes the database refuse bills of a model, or all bills with an error of the disk. */
const ON_FILE = {
  refuse: `CREATE TRIGGER faulty BEFORE INSERT ON ledger_turn WHEN NEW.model = '${REFUSED}' BEGIN SELECT RAISE(ABORT, 'no'); END`,
  fail: 'ALTER TABLE ledger_turn RENAME TO away',
  mend: 'ALTER TABLE away RENAME TO ledger_turn',
};
const trigger = (code: string, when: string): string => `
  CREATE FUNCTION faulty() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '${code}'; END $$;
  CREATE TRIGGER faulty BEFORE INSERT ON mcp_pruner.ledger_turn FOR EACH ROW ${when} EXECUTE FUNCTION faulty()`;
const ON_DATABASE = {
  refuse: trigger('23514', `WHEN (NEW.model = '${REFUSED}')`),
  fail: trigger('58030', ''),
  mend: 'DROP TRIGGER faulty ON mcp_pruner.ledger_turn; DROP FUNCTION faulty()',
};

describe.each([
  { on: 'a file', runs: true },
  { on: 'PostgreSQL', runs: hasPostgres },
])('the health of a proxy on $on', ({ on, runs }) => {
  async function start() {
    const url = on === 'a file' ? '' : await newDatabase();
    const env: Readonly<Record<string, string>> = url === '' ? {} : { MCP_PRUNER_DATABASE_URL: url };
    const usage = { prompt_tokens: 100, completion_tokens: 1 };
    const upstream = await startUpstream((request, res) => {
      const { model } = JSON.parse(request.body.toString('utf8')) as { model: string };
      json(res, 200, { model, choices: [{ message: { role: 'assistant', content: 'Yes.' } }], usage });
    });
    const proxy = await startProxy(upstream, { env });
    const change = async (what: keyof typeof ON_FILE): Promise<void> => {
      if (url !== '') return void (await runSql(url, ON_DATABASE[what]));
      const db = new (sqliteDriver())(proxy.dbPath);
      db.exec(ON_FILE[what]);
      db.close();
    };
    let asked = 0;
    const ask = async (model = 'm'): Promise<void> => {
      const body = chatBody([{ role: 'user', content: `Question ${asked++}` }], { model });
      expect((await proxy.chat(body)).status).toBe(200);
    };
    const health = async () => (await (await fetch(`${proxy.url}/health`)).json()) as Record<string, unknown>;
    const metric = async (name: string): Promise<string | undefined> => {
      const text = await (await fetch(`${proxy.url}/metrics`)).text();
      return new RegExp(`^mcp_pruner_${name} (.+)$`, 'm').exec(text)?.[1];
    };
    const billed = async (): Promise<number> => {
      const settings = settingsOf({ MCP_PRUNER_DB_PATH: proxy.dbPath, ...env });
      const store = await openStore(settings, { edition, clock: { nowMs: () => Date.now() }, readonly: true });
      const { totals } = await readReport(store.ledger, { sinceDay: '2000-01-01' }).finally(() => store.close());
      return totals.requests;
    };
    return { proxy, change, ask, asked: () => asked, health, metric, billed };
  }

  it.skipIf(!runs)('counts the bills that the store refuses, and stays good', async () => {
    const { proxy, change, ask, health, metric, billed } = await start();
    await change('refuse');
    expect(await metric('ledger_dropped_rows')).toBe('0');
    for (const model of ['m', REFUSED, 'm']) await ask(model);
    await until(async () => (await health()).ledger_dropped === 1);
    expect(await health()).toMatchObject({ status: 'healthy', store: 'ok', ledger_dropped: 1 });
    expect(await metric('ledger_dropped_rows')).toBe('1');
    await proxy.stop();
    expect(await billed()).toBe(2);
  });

  it.skipIf(!runs)('is degraded while the books are not written, and no bill is lost', async () => {
    const { proxy, change, ask, asked, health, billed } = await start();
    await ask();
    await proxy.requestLines(1);
    await change('fail');
    await ask();
    await until(async () => (await health()).ledger_failing_since !== undefined);
    // whatever else the store accepts meanwhile
    for (let i = 0; i < 2; i++) {
      await ask();
      expect(await health()).toMatchObject({ status: 'degraded', ledger_failing_since: expect.any(String) });
    }
    await change('mend');
    await until(async () => {
      await ask();
      return (await health()).status === 'healthy';
    });
    expect(await health()).not.toHaveProperty('ledger_failing_since');
    await proxy.stop();
    expect(await billed()).toBe(asked());
  });
});
