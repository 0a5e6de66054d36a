import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startLines } from '../lib/lines.mjs';
import { API_KEY } from '../lib/session.mjs';

/**
 * Codex' app server, as its editors use it.
 *
 * @param {{ isSocket?: boolean, name?: string }} options - with the name `OpenAI`, it has the provider compact
 */
export const codex = ({ isSocket = false, name = 'scripted' } = {}) =>
  function start({ folder, home, work, url, env, model, timeoutMs }) {
    const config = join(home, '.codex');
    mkdirSync(config, { recursive: true });
    const file = join(config, 'config.toml');
    const lines = [
      ...[`model = "${model}"`, 'model_provider = "scripted"', 'check_for_update_on_startup = false'],
      ...['model_reasoning_effort = "medium"', 'model_auto_compact_token_limit = 20000000'],
      ...['approval_policy = "never"', 'sandbox_mode = "danger-full-access"', '[analytics]', 'enabled = false'],
      ...['[model_providers.scripted]', `name = "${name}"`, `base_url = "${url}/v1"`, 'env_key = "SCRIPTED_KEY"'],
      ...['wire_api = "responses"', `supports_websockets = ${isSocket}`, ''],
    ];
    writeFileSync(file, lines.join('\n'));
    const cli = join(folder, 'node_modules/@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex');
    let count = 0;
    let child;
    let thread;
    const turns = [];
    const call = async (method, params) => {
      const id = ++count;
      child.send({ jsonrpc: '2.0', id, method, params });
      const { error, result } = await child.next((one) => one.id === id && (one.result !== undefined || one.error));
      if (error) throw new Error(`${method}: ${JSON.stringify(error).slice(0, 300)}`);
      return result;
    };
    const open = async () => {
      child = startLines(cli, ['app-server'], {
        ...{ cwd: work, env: { ...env, CODEX_HOME: config, SCRIPTED_KEY: API_KEY }, timeoutMs },
      });
      await call('initialize', { clientInfo: { name: 'seams', title: 'seams', version: '1.0.0' } });
      child.send({ jsonrpc: '2.0', method: 'initialized' });
    };
    const completed = async (from) => {
      const { params } = await child.next(({ method }) => method === 'turn/completed', from);
      const { status, error, id } = params.turn;
      if (status !== 'completed') throw new Error(`${status}: ${JSON.stringify(error).slice(0, 300)}`);
      return id;
    };
    const say = async (text) => {
      if (child === undefined) await open();
      thread ??= (await call('thread/start', { cwd: work })).thread.id;
      const from = child.count;
      await call('turn/start', { threadId: thread, input: [{ type: 'text', text }] });
      turns.push(await completed(from));
    };
    const fork = async (words, from, more = {}) => {
      thread = (await call('thread/fork', { threadId: from, ...more })).thread.id;
      await say(words);
    };
    let first = '';
    const restart = async () => {
      await child.end();
      await open();
      await call('thread/resume', { threadId: thread });
      first ||= thread;
    };
    return {
      say,
      restart,
      /** Goes on over a WebSocket, or over POST. */
      move: async (toSocket) => {
        writeFileSync(file, lines.join('\n').replace(/(supports_websockets) = \w+/, `$1 = ${toSocket}`));
        await restart();
      },
      rewind: (words) => fork(words, thread, { lastTurnId: turns.at(-2) }),
      fork: (words) => fork(words, thread),
      compact: async () => {
        const from = child.count;
        await call('thread/compact/start', { threadId: thread });
        await completed(from);
      },
      far: (words) => fork(words, first, { lastTurnId: turns[0] }),
      back: async (words) => {
        thread = first;
        await say(words);
      },
      end: async () => child?.end(),
    };
  };
