import { setups } from '../mcp/setups.mjs';

/** Without the limit it cuts what a command says to 10,000 bytes for models that it does not know. */
const CODEX = ['tool_output_token_limit=50000', 'check_for_update_on_startup=false', 'analytics.enabled=false'];
const codex = {
  model: 'scripted',
  args: ['--json', '--dangerously-bypass-approvals-and-sandbox', ...CODEX.flatMap((one) => ['--config', one])],
};

/** What `child_create` is asked for beside the prompt: what lets an agent use its tools without a person. */
const inputs = {
  claude: { args: ['--output-format', 'json', '--allowedTools', 'Read,Bash'] },
  codex,
  'codex-chat': codex,
  opencode: { model: 'scripted', args: ['--format', 'json'] },
  // its JSON is one line, which the log of a child cuts
  qwen: { model: 'scripted', args: ['--yolo'] },
};

/** Nothing listens there: a call to the outside fails at once. Qwen sends what goes to loopback there as well. */
const NO_WAY_OUT = { HTTPS_PROXY: 'http://127.0.0.1:9', https_proxy: 'http://127.0.0.1:9' };

/**
 * Agents that can be children, each with its own tools as the scripted model calls them.
 *
 * @typedef {{ name: string, program: (folder: string) => [string, string], calls: object, input: object,
 *   answer: (logs: { stream: string, message: string }[]) => string | null }} Agent
 * @type {Agent[]}
 */
export const agents = Object.entries(inputs).flatMap(([name, input]) =>
  setups
    .filter((setup) => setup.name === name)
    .map(({ program, calls, env, answer }) => ({
      name,
      program,
      calls,
      input: {
        ...input,
        env: { CI: '1', NO_COLOR: '1', ...(name === 'qwen' ? {} : NO_WAY_OUT), ...withoutKeys(env({})) },
      },
      answer: (logs) => (name === 'qwen' ? lastLine(linesOf(logs)) : answer({ stdout: linesOf(logs) })),
    })),
);

/** Keys come from the server's environment. */
function withoutKeys(env) {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.endsWith('_KEY')));
}

function linesOf(logs) {
  return logs.flatMap(({ stream, message }) => (stream === 'stdout' ? [message] : [])).join('\n');
}

function lastLine(text) {
  return text.trim().split('\n').at(-1) ?? null;
}
