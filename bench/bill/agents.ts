/** What is known of an agent beside its recordings. */
export interface AgentFacts {
  /** Product and version of its user agent, by which the product knows where it compacts; `''`: unknown. */
  readonly userAgent: string;
  /** Characters per token where a session does not show its own. */
  readonly perToken: number;
  /** Its requests go to Anthropic's API, which checks the history; those of all others are played as chat completions. */
  readonly isBound?: true;
}

const AGENTS: Readonly<Record<string, AgentFacts>> = {
  'Claude Code': { userAgent: 'claude-cli/2.1.332', perToken: 2.8, isBound: true },
  Codex: { userAgent: 'codex_cli_rs/0.171.0', perToken: 4 },
  opencode: { userAgent: 'opencode/1.18.33', perToken: 3.8 },
  pi: { userAgent: 'pi/1.0.0', perToken: 3.5 },
  'Copilot CLI': { userAgent: 'copilot/1.0.102', perToken: 3.5 },
};
const OTHERS: AgentFacts = { userAgent: '', perToken: 3.5 };

export function agentFacts(agent: string): AgentFacts {
  return AGENTS[agent] ?? OTHERS;
}
