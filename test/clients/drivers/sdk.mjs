import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { LOG_COMMAND, SOURCE_PATH } from '../lib/project.mjs';

const programs = new URL('../programs/', import.meta.url);

/** The calls of the model on the two tools that the programs declare. */
const calls = {
  read: () => ({ name: 'read_file', args: { path: SOURCE_PATH } }),
  log: () => ({ name: 'run_command', args: { command: LOG_COMMAND } }),
};

/**
 * A driver for a small program written with an SDK.
 *
 * @param {string} name - of the program and of its packages
 * @param {string} mode - handed to the program
 */
function sdkDriver(name, mode, steps = ['read', 'log', 'answer'], packages = name) {
  return {
    name: `${packages}-${mode}`,
    packages,
    steps,
    calls,
    async run({ folder, node, work, baseUrl, rpcUrl, apiKey, task, followUp, env, start }) {
      // Beside its packages, where Node looks for them.
      for (const file of ['tools.mjs', `${name}.mjs`]) copyFileSync(new URL(file, programs), join(folder, file));
      const settings = {
        CLIENT_BASE_URL: baseUrl,
        CLIENT_API_KEY: apiKey,
        CLIENT_MODE: mode,
        CLIENT_RPC_URL: rpcUrl ?? '',
        CLIENT_TASK: task,
        CLIENT_FOLLOW_UP: followUp,
      };
      const result = await start(node, [join(folder, `${name}.mjs`)], {
        cwd: work,
        env: { ...env, ...settings },
      });
      const [, answer] = /^\{"answer":(.*)\}$/m.exec(result.stdout) ?? [];
      return { result, answer: answer === undefined ? null : JSON.parse(answer) };
    },
  };
}

const WITH_MCP = ['read', 'log', 'recover', 'answer'];

export const sdkDrivers = [
  ...['plain', 'stream', 'stream-helper', 'parts', 'runner', 'runner-stream'].map((mode) => sdkDriver('openai', mode)),
  sdkDriver('openai', 'two-turns', ['read', 'answer', 'log', 'answer']),
  ...['plain', 'stream'].map((mode) => sdkDriver('langchain', mode)),
  ...['aisdk7', 'aisdk', 'aisdk5'].flatMap((packages) =>
    ['plain', 'stream', 'responses-stream', 'messages-stream']
      .map((mode) => sdkDriver('aisdk', mode, undefined, packages))
      .concat(['mcp', 'responses-mcp', 'messages-mcp'].map((mode) => sdkDriver('aisdk', mode, WITH_MCP, packages))),
  ),
  ...['plain', 'stream', 'responses', 'responses-stream'].map((mode) => sdkDriver('agents', mode)),
  ...['mcp', 'responses-mcp'].map((mode) => sdkDriver('agents', mode, WITH_MCP)),
];
