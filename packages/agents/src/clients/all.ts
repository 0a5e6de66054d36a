import { claude } from './claude.ts';
import type { Client } from './client.ts';
import { cline } from './cline.ts';
import { codex, codexChat } from './codex.ts';
import { copilot } from './copilot.ts';
import { gemini } from './gemini.ts';
import { junie } from './junie.ts';
import { kimi } from './kimi.ts';
import { kilo, opencode } from './opencode.ts';
import { pi } from './pi.ts';
import { qwen } from './qwen.ts';
import { zed } from './zed.ts';

/** All known clients, by name. Junie and Zed were implemented from their documentation; the others were tested. */
export const clients: readonly Client[] = [
  ...[claude, codex, codexChat, qwen, opencode, kilo, cline, copilot, gemini, pi, kimi],
  ...[junie, zed],
];

export function findClient(name: string): Client | undefined {
  return clients.find((client) => client.name === name);
}

/** Any other program: gets the URL through the variables that most libraries read, but no MCP server. */
export function anyProgram(command: string): Client {
  return {
    name: command,
    title: command,
    command,
    wire: 'chat',
    needsModel: false,
    usesMcp: false,
    launch: ({ baseUrl, origin }, { env }) => ({
      args: [],
      env: {
        OPENAI_BASE_URL: baseUrl,
        OPENAI_API_BASE: baseUrl,
        // a user's own gateway is not among the proxy's upstreams
        ...(env.GOOGLE_GEMINI_BASE_URL ? {} : { GOOGLE_GEMINI_BASE_URL: origin }),
      },
      files: [],
    }),
    edits: () => [],
    notes: [],
  };
}
