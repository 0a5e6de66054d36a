import { spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../lib/proxy.mjs';
import { API_KEY } from '../lib/session.mjs';

const REASONING = {
  responses: {
    reasoningEffort: 'medium',
    forceReasoning: true,
    store: false,
    include: ['reasoning.encrypted_content'],
  },
  messages: { thinking: { type: 'enabled', budgetTokens: 4000 } },
};

/** opencode's server, as its terminal and its editors use it. @param wire - 'messages' or 'responses' */
export const opencode = (wire) =>
  function start({ folder, home, work, url, env, model: modelID, timeoutMs }) {
    const config = join(home, '.config/opencode');
    mkdirSync(config, { recursive: true });
    const limit = { context: 20_000_000, output: 8000 };
    const facts = { name: modelID, tool_call: true, reasoning: true, limit, options: REASONING[wire] };
    const npm = wire === 'messages' ? '@ai-sdk/anthropic' : '@ai-sdk/openai';
    const options = { baseURL: `${url}/v1`, apiKey: API_KEY };
    const scripted = { npm, name: 'scripted', options, models: { [modelID]: facts } };
    const provider = { scripted };
    const permission = { '*': 'allow' };
    const settings = { autoupdate: false, share: 'disabled', provider, model: `scripted/${modelID}`, permission };
    writeFileSync(join(config, 'opencode.json'), JSON.stringify(settings));
    const names = ['AUTOUPDATE', 'MODELS_FETCH', 'LSP_DOWNLOAD', 'DEFAULT_PLUGINS'];
    const switches = Object.fromEntries(names.map((name) => [`OPENCODE_DISABLE_${name}`, '1']));
    const cli = join(folder, 'node_modules/opencode-linux-x64/bin/opencode');
    let origin = '';
    let child;
    let over;
    let session = '';
    const call = async (path, body) => {
      const response = await fetch(`${origin}${path}?directory=${encodeURIComponent(work)}`, {
        method: body === undefined ? 'GET' : 'POST',
        headers: { 'content-type': 'application/json' },
        ...(body !== undefined && { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(timeoutMs),
      });
      const text = await response.text();
      if (!response.ok) throw new Error(`${path}: ${response.status} ${text.slice(0, 300)}`);
      return text === '' ? null : JSON.parse(text);
    };
    const open = async () => {
      const port = await freePort();
      origin = `http://127.0.0.1:${port}`;
      child = spawn(cli, ['serve', '--port', String(port)], {
        ...{ cwd: work, env: { ...env, ...switches }, detached: true, stdio: 'ignore' },
      });
      over = new Promise((resolve) => child.once('exit', resolve));
      for (let tries = 0; tries < 600; tries++) {
        // a request that comes while it starts may never be answered
        const isUp = await fetch(`${origin}/session`, { signal: AbortSignal.timeout(3000) }).then(
          ({ ok }) => ok,
          () => false, // not listening yet
        );
        if (isUp) return;
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
      throw new Error('opencode did not start');
    };
    const end = async () => {
      if (child === undefined || child.exitCode !== null) return;
      process.kill(-child.pid, 'SIGKILL');
      await over;
    };
    const say = async (text) => {
      if (child === undefined) await open();
      if (session === '') ({ id: session } = await call('/session', {}));
      const parts = [{ type: 'text', text }];
      const { info } = await call(`/session/${session}/message`, { model: { providerID: 'scripted', modelID }, parts });
      if (info.error) throw new Error(JSON.stringify(info.error).slice(0, 300));
    };
    const users = async () =>
      (await call(`/session/${session}/message`)).filter(({ info }) => info.role === 'user').map(({ info }) => info.id);
    const fork = async (words, more = {}) => {
      ({ id: session } = await call(`/session/${session}/fork`, more));
      await say(words);
    };
    let first = '';
    return {
      say,
      restart: async () => {
        first ||= session;
        await end();
        await open();
      },
      rewind: async (words) => {
        await call(`/session/${session}/revert`, { messageID: (await users()).at(-1) });
        await say(words);
      },
      fork,
      compact: () => call(`/session/${session}/summarize`, { providerID: 'scripted', modelID }),
      far: async (words) => {
        session = first;
        await fork(words, { messageID: (await users())[1] });
      },
      back: async (words) => {
        session = first;
        await say(words);
      },
      end,
    };
  };
