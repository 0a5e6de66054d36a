import { stripVTControlCharacters } from 'node:util';
import type { Form, Message } from './conversation.ts';

const STEP = /^mini-swe-agent \(step \d+, \$[\d.]+\):$/;
const RULE = /^─{20,}$/;
const SPINNER = /[⠀-⣿] Waiting for the LM to respond\.\.\./g;

/**
 * What mini-swe-agent printed in a terminal: system, user and model in turn, each under a heading. Lines that were wider
 * than the terminal stay broken as it broke them.
 */
export const miniSweAgent: Form = {
  about: 'terminal logs of mini-swe-agent (sessions/agent.log)',
  matches: (path) => path.endsWith('/sessions/agent.log') && path.includes('swe-agent-mini'),
  read: (text, path) => {
    const lines = stripVTControlCharacters(text)
      .split('\n')
      .map((line) => line.slice(line.endsWith('\r') ? line.lastIndexOf('\r', line.length - 2) + 1 : 0))
      .map((line) => line.replaceAll('\r', '').replaceAll(SPINNER, ''));
    const messages: Message[] = [];
    let role = '';
    let said: string[] = [];
    const flush = (): void => {
      const content = contentOf(said, role);
      if (role !== '' && content !== '') messages.push({ role, content });
      said = [];
    };
    for (const line of lines) {
      const next = line === 'System:' ? 'system' : line === 'User:' ? 'user' : STEP.test(line) ? 'assistant' : '';
      if (next !== '') {
        flush();
        role = next;
      } else if (!RULE.test(line)) said.push(line);
    }
    flush();
    return messages.filter((message) => message.role === 'assistant').length < 3
      ? []
      : [{ agent: 'mini-swe-agent', name: path, messages }];
  },
};

/** A result ends with its frame: what the terminal printed behind it belongs to nobody. */
function contentOf(lines: readonly string[], role: string): string {
  const text = lines.join('\n').trim();
  if (role !== 'user' || !text.startsWith('<returncode>')) return text;
  const end = Math.max(text.lastIndexOf('</output>') + 9, text.lastIndexOf('</output_tail>') + 14);
  return text.slice(0, end);
}
