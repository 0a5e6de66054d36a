import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openStore } from 'mcp-pruner/app/store.ts';
import { edition } from 'mcp-pruner/edition.ts';
import type { Erased } from 'mcp-pruner/store/erase/report.ts';
import { change } from 'mcp-pruner/store/sql/steps.ts';
import { describe, expect, it } from 'vitest';
import { run } from '../../../test/cli/fake-io.ts';
import { tempFolder } from '../../../test/helpers/afterwards.ts';
import { chatBody, type Message, oneResult, toolTurn } from '../../../test/helpers/chat.ts';
import { startUpstream } from '../../../test/helpers/fake-upstream.ts';
import { hasPostgres } from '../../../test/helpers/postgres.ts';
import { settingsOf, startProxy } from '../../../test/helpers/proxy.ts';
import { until } from '../../../test/helpers/until.ts';
import { filesWith, fillEveryTable, rowsOf, TRACES, WORD } from './every-table.ts';
import { aLog, keys, Member, members, onFile, onPostgres, PLACES, type Place, startTeam } from './team.ts';

const PROVIDER = { authorization: 'Bearer sk-provider' };

type Document = Erased & { readonly id: string; readonly dry_run: boolean };

async function erase(place: Place, ...args: string[]) {
  const full = place.MCP_PRUNER_DATABASE_URL === undefined ? [] : ['--vacuum-full'];
  const at = { env: place, clock: { nowMs: () => Date.now() } };
  const { code, out, err } = await run(['erase', '--json', ...full, ...args], at);
  return { code, err, text: out, document: (out === '' ? {} : JSON.parse(out)) as Document };
}

const later = (text: string): readonly Message[] => toolTurn('call_2', 'bash', { command: 'journalctl' }, text);

describe.each(PLACES)('the data of a project on $on', ({ place: open, runs }) => {
  it.skipIf(!runs)('is erased with a proof while its conversation continues; shared data stays', async () => {
    const place = await open();
    const at = { env: place, clock: { nowMs: () => Date.now() } };
    const stage = await startTeam(place);
    const { web, api } = await members(stage, place, ['web', 'api']);
    const begin = oneResult(aLog(1));
    const turn = async (member: Member, ...more: readonly Message[]): Promise<Buffer> => {
      const { status } = await member.send('/v1/chat/completions', chatBody([...begin, ...more]), PROVIDER);
      expect(status).toBe(200);
      return stage.upstream.requests.at(-1)?.body ?? Buffer.alloc(0);
    };
    const idsIn = (body: Buffer): string[] =>
      [...body.toString().matchAll(/prune_id=(prn_\w{12})/g)].map(([, id = '']) => id);
    await turn(web);
    const sent = await turn(web, ...later(aLog(2)));
    await turn(api);
    const ofApi = await turn(api, ...later(aLog(3)));
    const [shared = ''] = idsIn(sent);
    const own = idsIn(sent).find((id) => !idsIn(ofApi).includes(id)) ?? '';
    expect([idsIn(ofApi)[0], own]).toEqual([shared, expect.stringMatching(/^prn_/)]);
    const spent = async (project: string): Promise<unknown> => {
      const { out } = await run(['report', '--by', 'project', '--json', '--project', project], {
        env: place,
        clock: { nowMs: () => Date.now() },
      });
      return (JSON.parse(out) as { rows: unknown[] }).rows.length;
    };
    await until(async () => (await spent('web')) === 1 && (await spent('api')) === 1);
    await until(async () => JSON.stringify(await web.page('conversations')).includes('"requests":2'));

    const dry = await erase(place, '--project', 'web', '--dry-run');
    expect([dry.code, dry.err]).toEqual([0, '']);
    expect(dry.document).toMatchObject({ dry_run: true, conversations: 1, complete: false });
    expect(dry.document.texts_shared).toBeGreaterThan(0);

    const { code, err, text, document } = await erase(place, '--project', 'web');
    expect([code, err, document.complete, document.searched_again.found]).toEqual([0, '', true, 0]);
    for (const table of [
      'prune',
      'snapshot',
      'decision',
      'conversation',
      'segment',
      'ledger_turn',
      'ledger_sum',
      'ledger_state',
      'event',
      'recall',
    ]) {
      expect([table, document.rows[table]]).toEqual([table, { before: expect.any(Number), after: 0 }]);
    }
    if (place.MCP_PRUNER_DATABASE_URL === undefined) {
      expect(document.files).toMatchObject({ found: 0, samples: expect.toSatisfy((count: number) => count > 2) });
      for (const file of [stage.dbPath, `${stage.dbPath}-wal`]) expect(readFileSync(file).includes(own)).toBe(false);
    }
    expect(JSON.stringify(await web.recover(own))).toContain('error');
    expect(JSON.stringify(await web.recover(shared))).toContain('error');
    expect(JSON.stringify(await api.recover(shared))).toContain('raw_text');
    expect([await spent('web'), await spent('api')]).toEqual([0, 1]);

    const trail = (await run(['report', '--live', '--once', '--json', '--since', '1d', '--kind', 'erasure'], at)).out;
    expect(trail).toContain(createHash('sha256').update(text).digest('hex'));
    expect(trail).not.toContain('web');

    const again = await turn(web, ...later(aLog(2)), ...[{ role: 'user', content: 'Go on.' }]);
    const cut = sent.toString().slice(0, sent.lastIndexOf('prune_id=') + 30);
    expect(again.toString().startsWith(cut)).toBe(true);
    expect(JSON.stringify(await web.recover(own))).toContain('raw_text');

    const tom = new Member(stage, await keys(place, 'create', '--name', 'tom', '--project', 'api'));
    const ofTom = await tom.prunes(stage, aLog(4), 'Why did it fail?');
    const dollars = async () => JSON.stringify(await run(['report', '--by', 'key', '--json'], at));
    await until(async () => (await dollars()).includes('tom'));
    expect(await erase(place, '--key', 'tom')).toMatchObject({
      code: 1,
      err: expect.stringContaining('revoke tom first'),
    });
    await keys(place, 'revoke', 'tom');
    const person = await erase(place, '--key', 'tom');
    expect([person.code, person.document]).toMatchObject([0, { conversations: 1, complete: true }]);
    expect(person.document.audit_events_renamed).toBeGreaterThan(1);
    expect(JSON.stringify(await api.recover(ofTom))).toContain('error');
    expect(await dollars()).not.toContain('tom');
    const audit = (await run(['report', '--live', '--once', '--json', '--since', '1d'], at)).out;
    expect([audit.includes('"tom"'), audit.includes(person.document.id)]).toEqual([false, true]);
    expect(JSON.stringify(await api.recover(shared))).toContain('raw_text');
  });
});

describe.each([
  { on: 'a file', place: onFile, runs: true },
  { on: 'PostgreSQL', place: onPostgres, runs: hasPostgres },
])('the words of a user on $on', ({ place: open, runs }) => {
  it.skipIf(!runs)('are in no table row and in no file after their project is erased', async () => {
    const place = await open();
    await fillEveryTable(place);
    const before = await rowsOf(place);
    expect([...before].flatMap(([table, rows]) => (rows === '[]' ? [table] : []))).toEqual([]);
    const withWord = [...before].flatMap(([table, rows]) => (rows.includes(WORD) ? [table] : []));
    expect(withWord).toEqual(expect.arrayContaining(['conversation', 'reply', 'recall']));
    expect(await filesWith(place, [WORD])).not.toEqual([]);

    const { code, err, document } = await erase(place, '--project', 'web', '--with-settings');
    expect([code, err, document.complete, document.missing]).toEqual([0, '', true, []]);
    const after = await rowsOf(place);
    for (const [table, rows] of after) {
      expect([table, TRACES.filter((trace) => rows.includes(trace))]).toEqual([table, []]);
    }
    expect(after.get('ledger_state')).toContain('conversation\\napi\\n');
    expect(await filesWith(place, [WORD])).toEqual([]);
    if (place.MCP_PRUNER_DATABASE_URL === undefined) return;
    for (const words of ['write-ahead log', 'pg_statistic']) expect(document.not_searched.join()).toContain(words);
  });
});

it.skipIf(!hasPostgres)(
  'erase reports its actions and what is missing on PostgreSQL in five lines on a terminal',
  async () => {
    const place = await onPostgres();
    await keys(place, 'create', '--name', 'tom', '--project', 'web');
    const at = { env: place, clock: { nowMs: () => Date.now() } };
    const { code, out, err } = await run(['erase', '--project', 'web'], at);
    expect([code, out.trimEnd().split('\n').length]).toEqual([1, 5]);
    expect(err).toContain('--vacuum-full');
    expect(err).not.toContain('process');
  },
);

it('erases a project of a proxy without keys, and the agents that worked in it', async () => {
  const upstream = await startUpstream();
  const proxy = await startProxy(upstream);
  const ask = async (project: string, seed: number): Promise<string> => {
    const [system, , ...rest] = oneResult(aLog(seed));
    const asked = { role: 'user', content: `Look at ${project}.` };
    const body = chatBody([system, asked, ...rest].flatMap((message) => message ?? []));
    await (await proxy.chat(body, { 'x-mcp-pruner-project': project })).text();
    const [id = ''] =
      upstream.requests
        .at(-1)
        ?.body.toString()
        .match(/prn_\w{12}/) ?? [];
    return id;
  };
  const [ofWeb, ofApi] = [await ask('web', 1), await ask('api', 2)];
  await proxy.requestLines(2);
  await proxy.stop();
  const place = { MCP_PRUNER_DB_PATH: proxy.dbPath };
  const at = { edition, clock: { nowMs: () => Date.now() } };
  const opened = await openStore(settingsOf(place), at);
  const [conversation] = await opened.segments.conversations('web');
  const about = { tsMs: 1, level: 'info', opId: null, payload: {} } as const;
  await opened.addEvents([{ ...about, kind: 'request', runId: conversation?.name ?? '', childId: 'child-0001' }]);
  const line = { tsMs: 1, runId: null, stream: 'stdout', message: 'what it said', parsed: null } as const;
  await opened.records.addChildLogs([
    { ...line, childId: 'child-0001' },
    { ...line, childId: 'child-0002' },
  ]);
  await opened.sql.write(function* () {
    for (const id of ['child-0001', 'child-0002'])
      yield* change(
        "INSERT INTO main.fleet_child (child_id, state, record, spec) VALUES (?, 'terminated', '{}', '{}')",
        [id],
      );
  });
  await opened.close();
  const { code, document } = await erase(place, '--project', 'web');
  expect([code, document]).toMatchObject([0, { complete: true, conversations: 1, children: 1, texts_shared: 0 }]);
  for (const table of ['prune', 'snapshot', 'charge', 'sent', 'fleet_child', 'child_log', 'event', 'ledger_turn'])
    expect([table, document.rows[table]?.after]).toEqual([table, 0]);
  const left = await openStore(settingsOf(place), { ...at, readonly: true });
  expect([await left.findOriginal(ofWeb), (await left.findOriginal(ofApi))?.length]).toEqual([null, aLog(2).length]);
  const children = await left.sql.all<{ child_id: string }>('SELECT child_id FROM main.fleet_child');
  expect(children).toEqual([{ child_id: 'child-0002' }]);
  await left.close();
});

describe.skipIf(!hasPostgres)('what replicas have sent', () => {
  it('is erased from their own files too: at once where requests come in, and at the next start', async () => {
    const place = await onPostgres();
    const upstream = await startUpstream();
    const { MCP_PRUNER_DB_PATH: _file, ...env } = place;
    const start = () => startProxy(upstream, { env, dbPath: join(tempFolder(), 'own.db') });
    const [busy, idle] = [await start(), await start()];
    const send = async (proxy: typeof busy, project: string, n: number): Promise<string> => {
      const headers = { 'content-type': 'application/json', 'x-mcp-pruner-project': project };
      const body = new Uint8Array(chatBody(oneResult(aLog(n))));
      await (await fetch(`${proxy.url}/v1/chat/completions`, { method: 'POST', headers, body })).arrayBuffer();
      return /prn_\w{12}/.exec(String(upstream.requests.at(-1)?.body))?.[0] ?? 'none';
    };
    const kept = async (proxy: typeof busy): Promise<string> => {
      if (!existsSync(proxy.dbPath)) return '';
      const own = await openStore(settingsOf({ MCP_PRUNER_DB_PATH: proxy.dbPath }), {
        ...{ edition, clock: { nowMs: () => Date.now() }, readonly: true },
      });
      const rows = await own.sql.all<{ body: string }>('SELECT body FROM main.sent').finally(() => own.close());
      return rows.map(({ body }) => body).join('\n');
    };
    const [erased, other] = [await send(busy, 'web', 1), await send(busy, 'api', 2)];
    await send(idle, 'web', 1);
    for (const proxy of [busy, idle]) await until(async () => (await kept(proxy)).includes(erased));
    await idle.stop();
    expect(await erase(place, '--project', 'web')).toMatchObject({ code: 0, document: { complete: true } });
    await until(async () => {
      await send(busy, 'api', 3);
      return !(await kept(busy)).includes(erased);
    });
    expect(await kept(busy)).toContain(other);
    expect(await kept(idle)).toContain(erased);
    await idle.start();
    await until(async () => !(await kept(idle)).includes(erased));
    // a conversation that goes on sends the same cut again, and keeps the record
    expect(await send(idle, 'web', 1)).toBe(erased);
    await until(async () => (await kept(idle)).includes(erased));
    await idle.stop();
    await idle.start();
    await send(idle, 'api', 4);
    await idle.stop();
    expect(await kept(idle)).toContain(erased);
  });
});
