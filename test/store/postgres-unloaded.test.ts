import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { tempFolder } from '../helpers/afterwards.ts';
import { chatBody, oneResult } from '../helpers/chat.ts';
import { startUpstream } from '../helpers/fake-upstream.ts';
import { hasPostgres, newDatabase } from '../helpers/postgres.ts';
import { startServerProcess } from '../helpers/server-process.ts';
import { serverLog } from '../helpers/texts.ts';

/** Writes down the address of each module that a process loads. */
const HOOKS = `
  import { appendFileSync } from 'node:fs';
  export const load = (url, context, next) => {
    appendFileSync(process.env.MODULES, url + '\\n');
    return next(url, context);
  };
`;
const NOTE = "import { register } from 'node:module'; register('./hooks.mjs', import.meta.url);";

/** All modules that a server loads to start and to prune a request. */
async function modulesOf(env: Readonly<Record<string, string>>): Promise<string[]> {
  const folder = tempFolder();
  const list = `${folder}/modules`;
  writeFileSync(`${folder}/hooks.mjs`, HOOKS);
  writeFileSync(`${folder}/note.mjs`, NOTE);
  const upstream = await startUpstream();
  const server = await startServerProcess({
    env: {
      NODE_OPTIONS: `--import=file://${folder}/note.mjs`,
      MODULES: list,
      MCP_PRUNER_UPSTREAM_URL: upstream.url,
      MCP_PRUNER_TIMEOUT_MS: '20000', // on a busy machine, too, the request is to be decided on
      ...env,
    },
  });
  const answer = await server.chat(chatBody(oneResult(serverLog(300, 1), { args: { command: 'job' } })));
  expect(answer.status).toBe(200);
  expect(upstream.requests.at(-1)?.body.toString()).toContain('prune_id');
  return readFileSync(list, 'utf8').trim().split('\n');
}

/** Words of the driver alone. */
const DRIVER = /SCRAM-SERVER-FIRST-MESSAGE/;
/** Words of what speaks to the tables there. */
const TABLES = /(FROM|INTO|UPDATE|SCHEMA) mcp_pruner\b/;

/** Those that say such words. */
function saying(words: RegExp, modules: readonly string[]): string[] {
  return modules.filter((url) => url.startsWith('file:') && words.test(readFileSync(fileURLToPath(url), 'utf8')));
}

describe('a server on SQLite', () => {
  it('loads no PostgreSQL code', async () => {
    const modules = await modulesOf({ MCP_PRUNER_DB_PATH: `${tempFolder()}/store.db` });
    expect(modules.length).toBeGreaterThan(20);
    for (const words of [DRIVER, TABLES]) expect(saying(words, modules)).toEqual([]);
  });

  it.skipIf(!hasPostgres)('differs from a server on PostgreSQL, which does load that code', async () => {
    const modules = await modulesOf({ MCP_PRUNER_DATABASE_URL: await newDatabase() });
    for (const words of [DRIVER, TABLES]) expect(saying(words, modules)).not.toEqual([]);
  });
});
