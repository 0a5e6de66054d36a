import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { openStore } from 'mcp-pruner/app/store.ts';
import { edition } from 'mcp-pruner/edition.ts';
import { movedTables } from 'mcp-pruner/store/move/tables.ts';
import { change } from 'mcp-pruner/store/sql/steps.ts';
import { run } from '../../../test/cli/fake-io.ts';
import { type Message, oneResult, toolTurn } from '../../../test/helpers/chat.ts';
import { json } from '../../../test/helpers/fake-upstream.ts';
import { messagesBody, oneCall } from '../../../test/helpers/messages.ts';
import { settingsOf } from '../../../test/helpers/proxy.ts';
import { sourceFile } from '../../../test/helpers/texts.ts';
import { until } from '../../../test/helpers/until.ts';
import type { Stage } from '../../page/test/stage.ts';
import { aLog, type Member, members, newKey, type Place, startTeam, Member as TeamMember } from './team.ts';

const DAY_MS = 86_400_000;
const PROVIDER = { authorization: 'Bearer sk-provider' };

/** A word of the user that is in everything they send. */
export const WORD = 'zanzibarquux';
/** What shows in a row that it belongs to the project or its user; `JSON.stringify` escapes the line ends once. */
export const TRACES = [WORD, 'conversation\\nweb\\n', '"web"'];

const user = (content: string): Message => ({ role: 'user', content });

/** All rows of all tables, as text. */
export async function rowsOf(place: Place): Promise<Map<string, string>> {
  return withStore(place, 0, async (store) => {
    const found = new Map<string, string>();
    for (const { name } of movedTables) {
      const rows = await store.sql.all<Record<string, unknown>>(`SELECT * FROM main.${name}`, []);
      found.set(name, JSON.stringify(rows.map((row) => Object.values(row).map(textOf))));
    }
    return found;
  });
}

function textOf(cell: unknown): string {
  return cell instanceof Uint8Array ? Buffer.from(cell).toString('latin1') : String(cell);
}

/** The files of the store that contain one of the words: the file and its log, or relation files of PostgreSQL. */
export async function filesWith(place: Place, words: readonly string[]): Promise<string[]> {
  const { MCP_PRUNER_DB_PATH: path = '' } = place;
  const files = place.MCP_PRUNER_DATABASE_URL === undefined ? [path, `${path}-wal`] : await relationFiles(place);
  return files.filter((file) => existsSync(file) && words.some((word) => readFileSync(file).includes(word)));
}

/**
 * Of the database of this place, after what is in memory was written. Left out are the planner's statistics, which the
 * document of an erasure names as not searched.
 */
async function relationFiles(place: Place): Promise<string[]> {
  const [at] = await withStore(place, 0, async ({ sql }) => {
    await sql.all('CHECKPOINT', []);
    return sql.all<{ folder: string; statistics: string; toast: string }>(
      `SELECT current_setting('data_directory') || '/base/' || d.oid AS folder,
         pg_relation_filenode(c.oid)::text AS statistics, pg_relation_filenode(c.reltoastrelid)::text AS toast
       FROM pg_database d, pg_class c WHERE d.datname = current_database() AND c.oid = 'pg_catalog.pg_statistic'::regclass`,
      [],
    );
  });
  const { folder = '', statistics, toast } = at ?? {};
  const isOurs = (name: string): boolean => !/^\d+$/.test(name) || (name !== statistics && name !== toast);
  return readdirSync(folder)
    .filter(isOurs)
    .map((name) => join(folder, name));
}

async function withStore<T>(
  place: Place,
  aheadMs: number,
  use: (store: Awaited<ReturnType<typeof openStore>>) => Promise<T>,
): Promise<T> {
  const store = await openStore(settingsOf(place), { edition, clock: { nowMs: () => Date.now() + aheadMs } });
  try {
    await store.ready();
    return await use(store);
  } finally {
    await store.close();
  }
}

/** A project `web` that has used all that the product offers and has rows in every table, and a project `api`. */
export async function fillEveryTable(place: Place): Promise<void> {
  let aheadMs = -200 * DAY_MS;
  const env = {
    MCP_PRUNER_CONVERSATION_TITLES: 'true',
    MCP_PRUNER_CONTEXT_BUDGET_TOKENS: '20000',
  };
  const stage = await startTeam(place, env, { nowMs: () => Date.now() + aheadMs });
  const { web, api } = await members(stage, place, ['web', 'api']);
  const limited = new TeamMember(stage, await newKey(place, 'web', '--requests-per-minute', '100'));
  // conversations that have expired by the time of the erasure
  for (const turn of ['1', '2', '3']) await chats(limited, [user(`${WORD} ${turn}`)]);
  aheadMs = 0;
  for (const turn of ['4', '5']) await chats(web, [user(`${WORD} ${turn}`)]);
  await chats(api, [user('other words')]);
  await prunesAndCollects(stage, web);
  await asksForAll(stage, web);
  await goesOverItsBudget(web);
  const at = { env: place, clock: { nowMs: () => Date.now() } };
  await run(['projects', 'set', 'web', '--never-prune-paths', `${WORD}/**`], at);
  await stage.close(); // everything is written
  await withStore(place, 0, async (store) => {
    while (await store.sweep());
    const cuts = JSON.stringify([{ tool: WORD, ofTool: true, pruneId: 'prn_SHORTENED000' }]);
    await store.sql.write(() =>
      change('INSERT INTO main.tool_shelf_conversation (project, conversation, cuts, seen_ms) VALUES (?, ?, ?, ?)', [
        'web',
        `chat ${WORD}`,
        cuts,
        Date.now(),
      ]),
    );
    // a request that waits needs a killed process, and agents of the fleet are processes
    const names = ['conversation\nweb\nof a killed process'];
    const waits = [{ requestId: WORD, sinceMs: Date.now(), names, lineage: '', data: `{"project":"web","${WORD}":1}` }];
    const process = { name: 'process\n1', lineage: 'process', aliveFromMs: 0 };
    await store.ledger.settle({ states: new Map(), lineages: [], requestIds: [], process }, () => ({
      ...{ turns: [], sums: [], states: [], removed: [], billed: [] },
      waits,
    }));
    const [conversation] = await store.segments.conversations('web');
    const event = { level: 'info', kind: 'request', runId: conversation?.name ?? '', opId: null } as const;
    await store.addEvents([{ ...event, tsMs: 1, childId: 'child-0001', payload: { asked: WORD } }]);
    const line = { tsMs: 1, childId: 'child-0001', runId: null, stream: 'stdout', parsed: null } as const;
    await store.records.addChildLogs([{ ...line, message: WORD }]);
  });
}

async function chats(member: Member, messages: readonly Message[], more: object = {}): Promise<void> {
  const { status } = await member.send('/v1/chat/completions', { model: 'gpt-5', messages, ...more }, PROVIDER);
  if (status !== 200) throw new Error(`not forwarded: ${status}`);
}

/** Cuts, recovers, and stores an answer under an idempotency key. */
async function prunesAndCollects(stage: Stage, web: Member): Promise<void> {
  const id = await web.prunes(stage, `${WORD}\n${aLog(7)}`, `${WORD} asks: why did it fail?`);
  await web.recover(id);
  const text = `${WORD}\n${aLog(11)}`;
  await web.call('prune_text', { text, goal_hint: WORD, source_type: 'logs', idempotency_key: 'key' });
}

/** Failed, refused, continued and compacted conversations, on three wires. */
async function asksForAll(stage: Stage, web: Member): Promise<void> {
  const { upstream } = stage;
  const { answer } = upstream;
  const ask = (path: string, body: object | Buffer) => web.send(path, body, PROVIDER);
  const chat = (...messages: readonly Message[]) => ask('/v1/chat/completions', { model: 'gpt-5', messages });
  upstream.answer = (_request, res) => json(res, 500, { error: { message: 'broken' } });
  await chat(user(`${WORD} fails`));
  upstream.answer = (request, res, index) =>
    request.body.includes('PRUN') ? json(res, 400, { error: { message: 'refused' } }) : answer(request, res, index);
  await chat(user(`${WORD} is refused`), ...oneResult(aLog(9)).slice(2));
  upstream.answer = (_request, res) => json(res, 200, RESPONSE);
  await ask('/v1/responses', { model: 'm', input: `${WORD} wants to know` });
  await ask('/v1/responses', { model: 'm', previous_response_id: 'resp_1', input: `${WORD} goes on` });
  upstream.answer = answer;
  await ask('/v1/messages', messagesBody(oneCall(`${WORD}\n${aLog(8)}`)));
  const said = { role: 'assistant', content: `${WORD} is answered` } as const;
  await chat(user(`${WORD} is compacted`));
  await chat(user(`${WORD} is compacted`), said, user('You are performing a CONTEXT CHECKPOINT COMPACTION. Now.'));
}

/** A conversation that grows until old parts are stashed; another part is pinned. */
async function goesOverItsBudget(web: Member): Promise<void> {
  const messages: Message[] = [user(`${WORD} reads`)];
  for (let i = 0; i < 26; i++) {
    const path = `src/${WORD}/part${i}.ts`;
    messages.push(...toolTurn(`call_${i}`, 'read_file', { path }, sourceFile(i === 0 ? 40 : 8, i * 3)));
    await chats(web, messages);
    messages.push({ role: 'assistant', content: `I read part ${i}.` });
  }
  const [segment] = await until(async () => {
    const found = JSON.stringify(await web.call('context_gc_analyze', { project_id: 'web' }));
    return /seg_\w+/.exec(found);
  });
  await web.call('context_gc_pin', { project_id: 'web', segment_ids: [segment] });
}

const RESPONSE = {
  ...{ id: 'resp_1', object: 'response', status: 'completed', model: 'm' },
  output: [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: `${WORD} is answered` }] }],
  usage: { input_tokens: 10, output_tokens: 2 },
};
