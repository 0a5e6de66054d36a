/** The exact packages of every set-up; the key names its folder in the cache. The first one is the client itself. */
export const PACKAGES = {
  openai: { openai: '6.49.0', zod: '4.6.7' },
  langchain: {
    '@langchain/openai': '1.5.8',
    '@langchain/langgraph': '1.7.3',
    '@langchain/core': '1.4.0',
    zod: '4.6.7',
  },
  aisdk: { ai: '6.0.326', '@ai-sdk/openai-compatible': '2.0.87', zod: '4.6.7' },
  agents: { '@openai/agents': '0.20.0', zod: '4.6.7' },
  qwen: { '@qwen-code/qwen-code': '0.15.10' },
  pi: { '@mariozechner/pi-coding-agent': '0.73.1' },
  cline: { cline: '3.0.65' },
  opencode: { 'opencode-ai': '1.18.33' },
  continue: { '@continuedev/cli': '1.5.47' },
  codex: { '@openai/codex': '0.94.0' },
  'codex-current': { '@openai/codex': '0.169.0' },
  claude: { '@anthropic-ai/claude-code': '2.1.330' },
  copilot: { '@github/copilot': '1.0.102' },
  kilo: { '@kilocode/cli': '7.7.7' },
};
