import type { ToolResultCase } from '../case.ts';

const kind = 'grep';

export const search: readonly ToolResultCase[] = [
  {
    name: 'grep-headers-timeout',
    kind,
    goal: 'What is the default headersTimeout of undici in the code of the client (not in the docs)?',
    hints: { origin: 'search', command: "grep -rniE 'headers_?timeout' node_modules/undici" },
    fragments: ['this[kHeadersTimeout] = headersTimeout != null ? headersTimeout : 300e3'],
    make: (shop) =>
      shop.sh("grep -rniE 'headers_?timeout' undici --include=*.js --include=*.d.ts --include=*.md", shop.modules),
  },
  {
    name: 'git-grep-heading-deprecated',
    kind,
    goal: 'Which class replaces the deprecated SSEServerTransport of the MCP SDK?',
    hints: { origin: 'search', command: 'rg -n --heading -i deprecat' },
    fragments: ['@deprecated SSEServerTransport is deprecated. Use StreamableHTTPServerTransport instead.'],
    make: (shop) =>
      shop.sh(
        "git grep --no-index -n --heading --break -i deprecat -- '@modelcontextprotocol/sdk/dist/esm/*.js' '@modelcontextprotocol/sdk/dist/esm/*.d.ts'",
        shop.modules,
      ),
  },
  {
    name: 'grep-context-emit-warning',
    kind,
    goal: 'Where does undici warn that EventSource is experimental, and only once per process?',
    hints: {
      origin: 'search',
      command: 'grep -rn -C2 emitWarning node_modules/undici node_modules/pino node_modules/readable-stream',
    },
    fragments: [
      "process.emitWarning('EventSource is experimental, expect them to change at any time.', {",
      'experimentalWarned = true',
    ],
    make: (shop) =>
      shop.sh('grep -rn -C2 --include=*.js emitWarning undici pino readable-stream express', shop.modules),
  },
  {
    name: 'grep-class-extends',
    kind,
    goal: 'Which error class does the openai client throw for a rate limit (429)?',
    hints: { origin: 'search', command: "grep -rn 'class .* extends' node_modules/openai" },
    fragments: ['export class RateLimitError extends APIError'],
    make: (shop) => shop.sh("grep -rn 'class .* extends' openai --include=*.mjs --include=*.ts", shop.modules),
  },
];
