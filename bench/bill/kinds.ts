import { callFacts, type ToolCall } from '../../src/wires/transcript/tools.ts';
import type { Message } from '../recordings/conversation.ts';
import { callsIn, contentOf } from './shown.ts';

const WEB = /web|fetch|exa_|context7|browser/i;
const AGENT = /^(?:task|agent|explore)$/i;
const GIT = /(?:^|[;&|\n]\s*|\s)git\s+(?:-\S+\s+\S+\s+)?(?:diff|show|log|status|blame)\b/;

/** What the result of each message is of, for the table by kinds. */
export function kindsOf(messages: readonly Message[]): string[] {
  const calls = new Map<string, ToolCall>();
  let asked = '';
  return messages.map((message) => {
    if (message.role === 'assistant') for (const { id, ...call } of callsIn(message)) calls.set(id, call);
    else if (message.role === 'user') asked = contentOf(message);
    return message.role === 'tool' ? kindOf(calls.get(String(message.tool_call_id)), asked) : 'words';
  });
}

function kindOf(call: ToolCall | undefined, asked: string): string {
  if (call === undefined) return 'unknown';
  if (AGENT.test(call.name)) return 'sub-agents';
  if (WEB.test(call.name)) return 'web';
  const { origin, path = '', command = '' } = callFacts(call).hints;
  if (origin === 'read') return isNamed(path, asked) ? 'readings, named' : 'readings';
  if (origin === 'search') return 'searches';
  if (origin === 'listing') return 'listings';
  if (GIT.test(command)) return 'git';
  return origin === 'command' ? 'shell' : 'other tools';
}

function isNamed(path: string, asked: string): boolean {
  const name = path.slice(path.lastIndexOf('/') + 1).toLowerCase();
  return name !== '' && asked.toLowerCase().includes(name);
}
