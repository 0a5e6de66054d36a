import type { Form, Message } from './conversation.ts';

interface Entry {
  readonly role: string;
  readonly content: unknown;
  readonly tool_calls?: readonly unknown[] | null;
  readonly tool_call_ids?: readonly string[] | null;
}

/** Trajectories of SWE-agent as they were sent: observations are the user's messages where there were no native calls. */
export const sweAgent: Form = {
  about: 'trajectories of SWE-agent (*.traj)',
  matches: (path) => path.endsWith('.traj'),
  read: (text, path) => {
    const { history } = JSON.parse(text) as { readonly history?: readonly Entry[] };
    if (!history) return [];
    return [{ agent: 'SWE-agent', name: path, messages: history.map(messageOf) }];
  },
};

function messageOf({ role, content, tool_calls: calls, tool_call_ids: ids }: Entry): Message {
  if (role === 'tool') return { role, tool_call_id: ids?.[0] ?? '', content };
  return { role, content, ...(role === 'assistant' && calls && calls.length > 0 && { tool_calls: calls }) };
}
