import { findClient } from './clients/all.ts';
import type { ClientPlace, Launch } from './clients/client.ts';

/** Arguments before the prompt with which an agent answers one prompt and exits. */
const ONE_SHOT: Readonly<Record<string, readonly string[]>> = {
  codex: ['exec', '--skip-git-repo-check'],
  'codex-chat': ['exec', '--skip-git-repo-check'],
  claude: ['-p'],
  opencode: ['run'],
  kilo: ['run', '--auto'],
  qwen: ['-p'],
  cline: ['--yolo'],
  copilot: ['-p'],
  gemini: ['--prompt'],
};

interface OneShot {
  /** `http://host:port/child/<token>`. */
  readonly url: string;
  readonly prompt: string;
  readonly model: string | null;
  readonly folder: string;
}

/** How to start an agent for one prompt through a proxy URL; `null` if the agent does not support this. */
export function launchOnce(
  agent: string,
  { url, prompt, model, folder }: OneShot,
  place: ClientPlace,
): (Launch & { readonly command: string }) | null {
  const client = findClient(agent);
  const between = ONE_SHOT[agent];
  if (!client || between === undefined || client.launch === null) return null;
  const mcp = client.usesMcp ? ({ transport: 'http', url: `${url}/rpc` } as const) : null;
  const { args, ...launch } = client.launch({ baseUrl: `${url}/v1`, origin: url, mcp, model }, place, folder);
  const named = model !== null && agent !== 'opencode' && agent !== 'kilo' ? ['--model', model] : [];
  return { ...launch, command: client.command, args: [...args, ...between, ...named, prompt] };
}
