import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startLines } from '../lib/lines.mjs';
import { API_KEY } from '../lib/session.mjs';

/** pi in RPC mode. @param api - 'anthropic-messages' or 'openai-responses' */
export const pi = (api) =>
  function start({ folder, node, home, work, url, env, model: id, timeoutMs }) {
    const config = join(home, '.pi/agent');
    mkdirSync(config, { recursive: true });
    const isMessages = api === 'anthropic-messages';
    const model = { id, contextWindow: 20_000_000, maxTokens: 8000, reasoning: true };
    const scripted = { baseUrl: isMessages ? url : `${url}/v1`, api, apiKey: API_KEY, models: [model] };
    writeFileSync(join(config, 'models.json'), JSON.stringify({ providers: { scripted } }));
    // the tasks are short: without this, nothing of them would be compacted
    writeFileSync(join(config, 'settings.json'), JSON.stringify({ compaction: { keepRecentTokens: 2000 } }));
    const cli = join(folder, 'node_modules/@earendil-works/pi-coding-agent/dist/cli.js');
    const args = [cli, '--mode', 'rpc', '--offline', '--provider', 'scripted', '--model', id, '--thinking', 'medium'];
    const open = (...more) =>
      startLines(node, [...args, ...more], {
        ...{ cwd: work, env: { ...env, PI_CODING_AGENT_DIR: config, PI_TELEMETRY: '0' }, timeoutMs },
      });
    let child = open();
    let count = 0;
    const call = async (type, more = {}) => {
      const id = String(++count);
      child.send({ id, type, ...more });
      const { success, error, data } = await child.next((one) => one.type === 'response' && one.id === id);
      if (!success) throw new Error(`${type}: ${error}`);
      return data;
    };
    const say = async (message) => {
      const from = child.count;
      await call('prompt', { message });
      await child.next(({ type }) => type === 'agent_settled', from);
      const { messages } = await call('get_messages');
      const { stopReason, errorMessage } = messages.at(-1);
      if (stopReason === 'error') throw new Error(String(errorMessage).slice(0, 300));
    };
    const goTo = async (words, at) => {
      const { messages } = await call('get_fork_messages');
      await call('fork', { entryId: messages.at(at).entryId });
      await say(words);
    };
    let first = '';
    const toFirst = () => call('switch_session', { sessionPath: first });
    return {
      say,
      restart: async () => {
        await child.end();
        child = open('--continue');
        first ||= (await call('get_state')).sessionFile;
      },
      rewind: (words) => goTo(words, -1),
      fork: async (words) => {
        await call('clone');
        await say(words);
      },
      compact: () => call('compact'),
      far: async (words) => {
        await toFirst();
        await goTo(words, 1);
      },
      back: async (words) => {
        await toFirst();
        await say(words);
      },
      end: () => child.end(),
    };
  };
