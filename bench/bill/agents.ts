import { checksHistory } from '../../src/wires/providers/checks-history.ts';
import type { Recording } from '../recordings/conversation.ts';

/** What is known of an agent beside its recordings. */
export interface AgentFacts {
  /** Product and version of its user agent, by which the product knows where it compacts; `''`: unknown. */
  readonly userAgent: string;
  /** Characters per token where a session does not show its own. */
  readonly perToken: number;
  /** It asks Claude models at Anthropic's own API. */
  readonly asksAnthropic?: true;
}

const AGENTS: Readonly<Record<string, AgentFacts>> = {
  'Claude Code': { userAgent: 'claude-cli/2.1.332', perToken: 2.8, asksAnthropic: true },
  Codex: { userAgent: 'codex_cli_rs/0.171.0', perToken: 4 },
  opencode: { userAgent: 'opencode/1.18.33', perToken: 3.8, asksAnthropic: true },
  pi: { userAgent: 'pi/1.0.0', perToken: 3.5, asksAnthropic: true },
  'Copilot CLI': { userAgent: 'copilot/1.0.102', perToken: 3.5 },
};
const OTHERS: AgentFacts = { userAgent: '', perToken: 3.5 };

export function agentFacts(agent: string): AgentFacts {
  return AGENTS[agent] ?? OTHERS;
}

/** Who checks the history of a session: nobody, the provider of its model, or Anthropic's API, which may also clear results. */
export type History = 'free' | 'checked' | 'anthropic';

/** As the product would find it from the models of a recording; a recording without them has those of its agent. */
export function historyOf({ agent, usage = [] }: Pick<Recording, 'agent' | 'usage'>): History {
  const models = [...new Set(usage.flatMap(({ model = '' }) => (model === '' ? [] : model)))];
  const isClaude = agent === 'Claude Code' || models.some((model) => model.startsWith('claude-'));
  if (isClaude && agentFacts(agent).asksAnthropic === true) return 'anthropic';
  // Codex asks on the responses wire whatever its model is
  const onResponses = models.filter((model) => agent === 'Codex' || /(?:^|\/)gpt-/i.test(model));
  return onResponses.some(checksHistory) ? 'checked' : 'free';
}

/** The name of a recording's row: sessions of an agent whose history is checked have one of their own. */
export function rowNameOf(recording: Pick<Recording, 'agent' | 'usage'>): string {
  const { agent } = recording;
  const history = historyOf(recording);
  if (history === 'free' || agent === 'Claude Code') return agent;
  return history === 'checked' ? `${agent}, history checked` : `${agent}, Claude`;
}
