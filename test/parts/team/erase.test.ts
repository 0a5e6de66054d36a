import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { openStore } from '../../../src/app/store.ts';
import { edition } from '../../../src/edition.ts';
import type { Erased } from '../../../src/store/erase/erasure.ts';
import { movedTables } from '../../../src/store/move/tables.ts';
import { change } from '../../../src/store/sql/steps.ts';
import { run } from '../../cli/fake-io.ts';
import { chatBody, type Message, oneResult, toolTurn } from '../../helpers/chat.ts';
import { json, startUpstream } from '../../helpers/fake-upstream.ts';
import { messagesBody, oneCall } from '../../helpers/messages.ts';
import { hasPostgres } from '../../helpers/postgres.ts';
import { settingsOf, startProxy } from '../../helpers/proxy.ts';
import { until } from '../../helpers/until.ts';
import type { Stage } from '../page/stage.ts';
import { aLog, keys, Member, members, onFile, onPostgres, type Place, startTeam } from './team.ts';

const PROVIDER = { authorization: 'Bearer sk-provider' };

type Document = Erased & { readonly id: string; readonly dry_run: boolean };

async function erase(place: Place, ...args: string[]) {
  const full = place.MCP_PRUNER_DATABASE_URL === undefined ? [] : ['--vacuum-full'];
  const at = { env: place, clock: { nowMs: () => Date.now() } };
  const { code, out, err } = await run(['erase', '--json', ...full, ...args], at);
  return { code, err, text: out, document: (out === '' ? {} : JSON.parse(out)) as Document };
}

const later = (text: string): readonly Message[] => toolTurn('call_2', 'bash', { command: 'journalctl' }, text);

describe.each([
  { on: 'a file', place: onFile, runs: true },
  { on: 'PostgreSQL', place: onPostgres, runs: hasPostgres },
])('the data of a project on $on', ({ place: open, runs }) => {
  it.skipIf(!runs)('is erased with a proof while its conversation continues; data that others need stays', async () => {
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

/** A word of the user that is in everything they send. */
const WORD = 'zanzibarquux';

/** All rows of all tables, as text. */
async function rowsOf(place: Place): Promise<Map<string, string>> {
  const store = await openStore(settingsOf(place), { edition, clock: { nowMs: () => Date.now() } });
  try {
    await store.ready();
    const found = new Map<string, string>();
    for (const { name } of movedTables) {
      const rows = await store.sql.all<Record<string, unknown>>(`SELECT * FROM main.${name}`, []);
      found.set(name, JSON.stringify(rows.map((row) => Object.values(row).map(textOf))));
    }
    return found;
  } finally {
    await store.close();
  }
}

function textOf(cell: unknown): string {
  return cell instanceof Uint8Array ? Buffer.from(cell).toString('latin1') : String(cell);
}

/** Requests of a project that leave rows of every kind: answered ones, failed ones, and some without a large text. */
async function useEverything(stage: Stage, member: Member): Promise<void> {
  const ask = (path: string, body: object | Buffer) => member.send(path, body, PROVIDER);
  await member.prunes(stage, aLog(7), `${WORD} asks: why did it fail?`);
  const short = { model: 'm', messages: [{ role: 'user', content: `${WORD} says hello` }] };
  await ask('/v1/chat/completions', short);
  const { answer } = stage.upstream;
  stage.upstream.answer = (_request, res) => json(res, 500, { error: { message: 'broken' } });
  await ask('/v1/chat/completions', { ...short, messages: [{ role: 'user', content: `${WORD} fails` }] });
  stage.upstream.answer = (_request, res) => json(res, 200, RESPONSE);
  await ask('/v1/responses', { model: 'm', input: `${WORD} wants to know` });
  await ask('/v1/responses', { model: 'm', previous_response_id: 'resp_1', input: `${WORD} goes on` });
  stage.upstream.answer = answer;
  await ask('/v1/messages', messagesBody(oneCall(`${WORD}\n${aLog(8)}`)));
}

const RESPONSE = {
  ...{ id: 'resp_1', object: 'response', status: 'completed', model: 'm' },
  output: [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: `${WORD} is answered` }] }],
  usage: { input_tokens: 10, output_tokens: 2 },
};

describe.each([
  { on: 'a file', place: onFile, runs: true },
  { on: 'PostgreSQL', place: onPostgres, runs: hasPostgres },
])('the words of a user on $on', ({ place: open, runs }) => {
  it.skipIf(!runs)('are in no row and no file after the erasure of their project', async () => {
    const place = await open();
    const stage = await startTeam(place, { MCP_PRUNER_CONVERSATION_TITLES: 'true', MCP_PRUNER_TOOL_SHELF: 'on' });
    const { web, api } = await members(stage, place, ['web', 'api']);
    await useEverything(stage, web);
    await api.send(
      '/v1/chat/completions',
      { model: 'm', messages: [{ role: 'user', content: 'other words' }] },
      PROVIDER,
    );
    await stage.close(); // everything is written
    const before = await rowsOf(place);
    const withWord = [...before].flatMap(([table, rows]) => (rows.includes(WORD) ? [table] : []));
    expect(withWord).toEqual(expect.arrayContaining(['conversation', 'reply']));
    const states = JSON.parse(before.get('ledger_state') ?? '[]') as string[][];
    const ofWeb = states.filter((row) => row.some((cell) => cell.startsWith('conversation\nweb')));
    expect(ofWeb.length).toBeGreaterThan(2); // also of conversations without a large text

    const { code, err, document } = await erase(place, '--project', 'web');
    expect([code, err, document.complete, document.missing]).toEqual([0, '', true, []]);
    const after = await rowsOf(place);
    for (const [table, rows] of after) {
      expect([table, rows.includes(WORD), rows.includes('conversation\\nweb\\n')]).toEqual([table, false, false]);
    }
    expect(after.get('ledger_state')).toContain('conversation\\napi\\n');
    if (place.MCP_PRUNER_DATABASE_URL === undefined) {
      for (const file of [stage.dbPath, `${stage.dbPath}-wal`]) {
        expect(existsSync(file) && readFileSync(file).includes(WORD)).toBe(false);
      }
    } else expect(document.not_searched.join()).toContain('write-ahead log');
  });
});

it.skipIf(!hasPostgres)(
  'says on a terminal in five lines what was done, and what is missing on PostgreSQL',
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
