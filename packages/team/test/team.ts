import { writeFileSync } from 'node:fs';
import { Agent } from 'node:http';
import { join } from 'node:path';
import type { Clock } from 'mcp-pruner/core/ports.ts';
import { edition } from 'mcp-pruner/edition.ts';
import { run } from '../../../test/cli/fake-io.ts';
import { afterwards, tempFolder } from '../../../test/helpers/afterwards.ts';
import { chatBody, oneResult } from '../../../test/helpers/chat.ts';
import { makeStore } from '../../../test/helpers/new-store.ts';
import { hasPostgres, newDatabase } from '../../../test/helpers/postgres.ts';
import { serverLog } from '../../../test/helpers/texts.ts';
import { send, type WireAnswer } from '../../../test/helpers/wire.ts';
import { openStage, type Stage, type StageOptions } from '../../page/test/stage.ts';

/** Where the keys of a test lie, as the environment of every process names it. */
export type Place = Readonly<Record<string, string>>;

export const onFile = async (): Promise<Place> => {
  const path = join(tempFolder(), 'store.db');
  makeStore(path, edition.tables);
  return { MCP_PRUNER_DB_PATH: path };
};
export const onPostgres = async (): Promise<Place> => ({
  ...(await onFile()),
  MCP_PRUNER_DATABASE_URL: await newDatabase(),
});

/**
 * Where the end-to-end tests of keys run: on a file, and in the long suite on PostgreSQL. Both stores of keys are proved by
 * `keys.suite`, so that what differs here is only their composition.
 */
export const PLACES =
  process.env.MCP_PRUNER_TEST_KEYS_ON === 'postgres'
    ? [{ on: 'PostgreSQL', place: onPostgres, runs: hasPostgres }]
    : [{ on: 'a file', place: onFile, runs: true }];

const EVERYTHING = {
  MCP_PRUNER_ENABLE: 'resources,events-bus,bulk,idempotency',
};

/** A server that asks for keys, with all of its tools on. */
export async function startTeam(
  place: Place,
  env: Place = {},
  clock?: Clock,
  examine?: StageOptions['examine'],
): Promise<Stage> {
  const { MCP_PRUNER_DB_PATH: dbPath } = place;
  const stage = await openStage({
    env: { MCP_PRUNER_REQUIRE_KEY: 'true', ...EVERYTHING, ...place, ...env },
    pageFolder: aPage(),
    ...(dbPath !== undefined && { dbPath }),
    ...(clock && { clock }),
    ...(examine && { examine }),
  });
  afterwards(() => stage.close());
  return stage;
}

/** The files of the page with nothing in them: what it is fed with is what counts here. */
function aPage(): string {
  const folder = tempFolder();
  for (const file of ['index.html', 'app.js', 'style.css', 'icon.svg']) writeFileSync(join(folder, file), '');
  return folder;
}

/** Runs `mcp-pruner keys …` as an operator does. @returns what it printed, without the line end */
export async function keys(place: Place, ...args: string[]): Promise<string> {
  const { code, out, err } = await run(['keys', ...args], { env: place, clock: { nowMs: () => Date.now() } });
  if (code !== 0) throw new Error(`keys ${args.join(' ')}: ${code} ${err}`);
  return out.trimEnd();
}

/** Makes a key. @returns its text */
export const newKey = (place: Place, project: string, ...more: string[]): Promise<string> =>
  keys(place, 'create', '--name', `of ${project}`, '--project', project, ...more);

/** Hundreds of attempts need no connection each. */
const agent = new Agent({ keepAlive: true });

/** Someone with a key, in front of one server. */
export class Member {
  readonly #url: string;
  readonly #key: string;

  constructor(stage: Pick<Stage, 'url'>, key: string) {
    this.#url = stage.url;
    this.#key = key;
  }

  send(path: string, body?: Buffer | string | object, headers: Record<string, string> = {}): Promise<WireAnswer> {
    const text = body === undefined || typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body);
    return send(`${this.#url}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { 'content-type': 'application/json', 'x-mcp-pruner-key': this.#key, ...headers },
      agent,
      ...(text !== undefined && { body: text }),
    });
  }

  /** Asks a model about a long log, and gives the prune id of what was cut. @param asked - how the conversation begins */
  async prunes(stage: Stage, log: string, asked = 'Find the failing payment.'): Promise<string> {
    const [system, , ...rest] = oneResult(log);
    const body = chatBody([system, { role: 'user', content: asked }, ...rest].flatMap((message) => message ?? []));
    const { status } = await this.send('/v1/chat/completions', body, { authorization: 'Bearer sk-provider' });
    if (status !== 200) throw new Error(`not forwarded: ${status}`);
    const [, id] = /prune_id=(prn_\w{12})/.exec(stage.upstream.requests.at(-1)?.body.toString() ?? '') ?? [];
    if (id === undefined) throw new Error('nothing was cut');
    return id;
  }

  /** The answer of a method of `/rpc`, as it came. */
  async rpc(method: string, params: object): Promise<{ readonly result?: unknown; readonly error?: unknown }> {
    const { body } = await this.send('/rpc', { jsonrpc: '2.0', id: 1, method, params });
    return JSON.parse(body.toString()) as { result?: unknown; error?: unknown };
  }

  /** What a tool answers: its JSON, or the error. */
  async call(name: string, args: object): Promise<unknown> {
    const { result, error } = await this.rpc('tools/call', { name, arguments: args });
    if (error !== undefined) return { error };
    return JSON.parse((result as { content: [{ text: string }] }).content[0].text) as unknown;
  }

  recover(pruneId: string): Promise<unknown> {
    const ranges = [{ start_line: 1, end_line: 3 }];
    return this.call('recover_text', { prune_id: pruneId, ranges, include_line_numbers: false });
  }

  async page(path: string): Promise<unknown> {
    const { body } = await this.send(`/page/api/${path}`);
    return JSON.parse(body.toString()) as unknown;
  }
}

export const aLog = (seed: number): string => serverLog(400, seed);

/** Somebody of each project. */
export async function members<Project extends string>(
  stage: Stage,
  place: Place,
  projects: readonly Project[],
): Promise<Record<Project, Member>> {
  const made = projects.map(async (one) => [one, new Member(stage, await newKey(place, one))] as const);
  return Object.fromEntries(await Promise.all(made)) as Record<Project, Member>;
}
