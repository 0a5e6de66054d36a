import { describe, expect, it } from 'vitest';
import { json } from '../../../test/helpers/fake-upstream.ts';
import { messagesBody, oneCall } from '../../../test/helpers/messages.ts';
import { until } from '../../../test/helpers/until.ts';
import { LimitBooks } from '../../limits/test/provider.ts';
import { aLog, type Member, members, onFile, startTeam } from './team.ts';

/** Both projects use the same session id, run id and first words, as two copies of one scripted agent do. */
const SESSION = 'session-0123';
const RUN = '0123456789abcdef'.repeat(2);
const SECRET = 'ledger-of-web-4711';

/** Sends one turn of a conversation. @param text - the result of its call */
async function turn(member: Member, text: string): Promise<void> {
  const headers = { authorization: 'Bearer sk-provider', 'x-claude-code-session-id': SESSION };
  const body = messagesBody(oneCall(text), { model: 'claude-opus-4-5' });
  const { status } = await member.send(`/run/${RUN}/v1/messages`, body, headers);
  expect(status).toBe(200);
}

/** All strings in an answer that may identify something. */
function idsIn(answer: unknown, found = new Set<string>()): Set<string> {
  if (typeof answer === 'string' && /^[\w:./-]{4,120}$/.test(answer) && /[\d:]/.test(answer)) found.add(answer);
  else if (typeof answer === 'object' && answer !== null) for (const one of Object.values(answer)) idsIn(one, found);
  return found;
}

const READINGS = [
  'ledger?days=7',
  'shelf?days=7',
  'lines?days=7&by=project&measure=dollars',
  'requests',
  'conversations',
  'facets',
  'store',
  'prunes',
  'contexts?days=7',
  'projects',
  'limits',
  'keys',
];
const FIGURES = ['statusline', 'searchable'];
/** Paths below `/page/api/` that take an id. */
const BY_ID: readonly ((id: string) => string)[] = [
  (id) => `costs?ids=${id}`,
  (id) => `timeline?name=${id}`,
  (id) => `timeline?name=${id}&project=web`,
  (id) => `conversation?name=${id}`,
  (id) => `conversation?name=${id}&project=web`,
  (id) => `conversations?q=${id}`,
  (id) => `conversations?project=${id}`,
  (id) => `text?id=${id}`,
  (id) => `line?id=${id}&n=3`,
  (id) => `why?id=${id}`,
  (id) => `recall?query=${id}`,
  (id) => `recall?query=payment&project=${id}`,
  (id) => `projects?of=${id}`,
  (id) => `limits?conversation=${id}`,
  (id) => `requests?project=${id}`,
];

interface Tool {
  readonly name: string;
  readonly inputSchema: Schema;
}
interface Schema {
  readonly type?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly anyOf?: readonly Schema[];
}

/** A value for a field of a tool, with an id for each string. */
function valueFor(schema: Schema, id: string): unknown {
  if (schema.enum) return schema.enum[0];
  if (schema.anyOf?.[0]) return valueFor(schema.anyOf[0], id);
  if (schema.type === 'string') return id;
  if (schema.type === 'boolean') return true;
  if (schema.type === 'integer' || schema.type === 'number') return Math.max(1, schema.minimum ?? 0);
  if (schema.type === 'array') return [valueFor(schema.items ?? { type: 'string' }, id)];
  const { properties = {}, required = [] } = schema;
  const fields = required.map((name) => [name, name === 'timeout_ms' ? 5_000 : valueFor(properties[name] ?? {}, id)]);
  return Object.fromEntries(fields);
}

/** Arguments of a tool: the required ones, and once more with each optional one. */
function argumentsFor({ inputSchema }: Tool, id: string): object[] {
  const required = valueFor(inputSchema, id) as object;
  const optional = Object.entries(inputSchema.properties ?? {}).filter(([name]) => !(name in required));
  return [required, ...optional.map(([name, schema]) => ({ ...required, [name]: valueFor(schema, id) }))];
}

/** An answer without durations, numbers of the newest events, and the use of a plan that both projects share. */
function withoutNoise(answer: string): string {
  return answer.replace(/\\?"(?:elapsed_ms|newest|lastSeq|used|usedUpAtMs)\\?":(?:\d[\d.]*|null)/g, '');
}

/** Every answer that a member gets for these ids, by question. */
async function askEverything(member: Member, ids: readonly string[]): Promise<Map<string, string>> {
  const answers = new Map<string, string>();
  const note = async (path: string): Promise<void> => {
    const { status, body } = await member.send(path);
    answers.set(path, `${status} ${withoutNoise(body.toString())}`);
  };
  for (const path of READINGS) await note(`/page/api/${path}`);
  for (const path of [...FIGURES, 'metrics']) await note(`/${path}`);
  const listed = (await member.rpc('tools/list', {})).result as { readonly tools: readonly Tool[] };
  for (const id of ids) {
    const safe = encodeURIComponent(id);
    for (const path of BY_ID) await note(`/page/api/${path(safe)}`);
    for (const path of FIGURES) await note(`/${path}?session=${safe}`);
    if (/^[0-9a-f]{32}$/.test(id)) await note(`/run/${id}`);
    for (const tool of listed.tools) {
      if (['health', 'events_watch', 'resources_watch'].includes(tool.name)) continue;
      for (const args of argumentsFor(tool, id)) {
        const { result, error } = await member.rpc('tools/call', { name: tool.name, arguments: args });
        answers.set(`${tool.name} ${JSON.stringify(args)}`, withoutNoise(JSON.stringify(error ?? result)));
      }
    }
  }
  return answers;
}

describe('a member of one project', () => {
  it('gets the same answers to every question about every id, whatever another project does', async () => {
    const place = await onFile();
    let nowMs = 1_795_000_000_000;
    const clock = { nowMs: () => nowMs };
    const stage = await startTeam(place, {}, clock);
    const plan = new LimitBooks(clock.nowMs());
    stage.upstream.answer = (_request, res) => {
      plan.use(2);
      const body = {
        ...{ id: 'msg_1', type: 'message', role: 'assistant', model: 'claude-opus-4-5' },
        content: [{ type: 'text', text: 'Done.' }],
        usage: { input_tokens: 10, cache_creation_input_tokens: 2_000, cache_read_input_tokens: 0, output_tokens: 20 },
      };
      json(res, 200, body, plan.anthropic());
    };
    const { web, api, '*': all } = await members(stage, place, ['web', 'api', '*'] as const);
    await turn(api, aLog(1));
    await turn(web, `${SECRET}\n${aLog(2)}`);
    const seen = await until(async () => {
      const page = (await all.page('conversations')) as { conversations: { project: string; requests: number }[] };
      const [requests, prunes] = [await all.page('requests'), await all.page('prunes')];
      return page.conversations.length > 1 && [page, requests, prunes];
    });
    const resources = await web.call('resources_list', {});
    const events = await web.call('events_watch', { run_id: 'mcp', limit: 100 });
    const ids = [...idsIn([seen, resources, events, SESSION, RUN]), 'web'];
    await askEverything(api, ids); // some questions leave traces of their own, such as an idempotency key
    const before = await askEverything(api, ids);
    // later, since requests at the same time share what moves a limit
    nowMs += 3_600_000;
    for (const seed of [3, 4]) await turn(web, `${SECRET}\n${aLog(seed)}`);
    nowMs -= 3_600_000;
    await until(async () => {
      const { requests } = (await all.page('requests')) as { requests: readonly { dollars?: number }[] };
      return requests.length > 3;
    });
    const after = await askEverything(api, ids);
    const differing = [...after].filter(([question, answer]) => before.get(question) !== answer);
    expect(before.size).toBeGreaterThan(300);
    expect(differing.map(([question]) => question)).toEqual([]);
    const leaks = [...after].filter(([, answer]) => answer.includes(SECRET));
    expect(leaks.map(([question]) => question)).toEqual([]);
  });
});
