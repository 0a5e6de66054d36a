import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readCall, shellCall } from '../lib/calls.mjs';
import { eventsIn } from '../lib/events.mjs';
import { SOURCE_PATH } from '../lib/project.mjs';

const calls = { read: readCall(['read']), log: shellCall(['bash']) };

/** One configuration file and one command line serve opencode and its fork. */
async function run(
  { home, work, baseUrl, rpcUrl, apiKey, task, env, start },
  { binary, config, switches, files, mcp, npm },
) {
  const folder = join(home, '.config', config);
  mkdirSync(folder, { recursive: true });
  const model = { name: 'scripted', tool_call: true, limit: { context: 200_000, output: 8000 }, ...REASONING[npm] };
  const scripted = {
    npm,
    name: 'scripted',
    options: { baseURL: baseUrl, apiKey },
    models: { scripted: model },
  };
  const servers =
    mcp && rpcUrl !== null ? { pruner: { type: 'remote', url: rpcUrl, enabled: true, oauth: false } } : {};
  const settings = {
    autoupdate: false,
    share: 'disabled',
    provider: { scripted },
    model: 'scripted/scripted',
    mcp: servers,
  };
  writeFileSync(join(folder, `${config}.json`), JSON.stringify(settings));
  const attached = files.flatMap((file) => ['--file', file]);
  const result = await start(binary, ['run', '--format', 'json', '--model', 'scripted/scripted', task, ...attached], {
    cwd: work,
    env: { ...env, ...switches },
  });
  return { result, answer: eventsIn(result.stdout).findLast((event) => event.type === 'text')?.part?.text ?? null };
}

const opencode = {
  config: 'opencode',
  switches: {
    OPENCODE_DISABLE_AUTOUPDATE: '1',
    OPENCODE_DISABLE_MODELS_FETCH: '1',
    OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
    OPENCODE_DISABLE_DEFAULT_PLUGINS: '1',
  },
  binary: (folder) => join(folder, 'node_modules/opencode-linux-x64/bin/opencode'),
};

/** A fork of it, with switches of its own. */
const kilo = {
  config: 'kilo',
  switches: {
    KILO_DISABLE_AUTOUPDATE: '1',
    KILO_DISABLE_MODELS_FETCH: '1',
    KILO_DISABLE_LSP_DOWNLOAD: '1',
    KILO_DISABLE_DEFAULT_PLUGINS: '1',
    KILO_DISABLE_SESSION_INGEST: '1',
    KILO_DISABLE_PRESENCE: '1',
    KILO_DISABLE_CODEBASE_INDEXING: '1',
    KILO_NO_DAEMON: '1',
    KILO_TELEMETRY_LEVEL: 'off',
  },
  binary: (folder) => join(folder, 'node_modules/@kilocode/cli-linux-x64/bin/kilo'),
};

/** What speaks each wire; all are part of the program. */
const CHAT = '@ai-sdk/openai-compatible';
const RESPONSES = '@ai-sdk/openai';
const MESSAGES = '@ai-sdk/anthropic';

/** With reasoning the history is bound. */
const REASONING = {
  [RESPONSES]: {
    reasoning: true,
    options: {
      reasoningEffort: 'medium',
      forceReasoning: true,
      store: false,
      include: ['reasoning.encrypted_content'],
    },
  },
  [MESSAGES]: { reasoning: true, options: { thinking: { type: 'enabled', budgetTokens: 4000 } } },
};

function driver(name, program, steps, { files = [], npm = CHAT } = {}) {
  return {
    name,
    packages: program.config,
    steps,
    calls,
    run: (session) =>
      run(session, { ...program, binary: program.binary(session.folder), files, npm, mcp: steps.includes('recover') }),
  };
}

export const opencodeDrivers = [
  driver('opencode', opencode, ['read', 'log', 'answer']),
  driver('opencode-file', opencode, ['log', 'answer'], { files: [SOURCE_PATH] }),
  driver('opencode-mcp', opencode, ['read', 'log', 'recover', 'answer']),
  driver('opencode-responses-mcp', opencode, ['read', 'log', 'recover', 'answer'], { npm: RESPONSES }),
  driver('opencode-messages-mcp', opencode, ['read', 'log', 'recover', 'answer'], { npm: MESSAGES }),
  driver('kilo', kilo, ['read', 'log', 'answer']),
  driver('kilo-mcp', kilo, ['read', 'log', 'recover', 'answer']),
];
