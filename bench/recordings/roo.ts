import type { Form, Message } from './conversation.ts';

interface Entry {
  readonly role: string;
  readonly content: string | readonly Message[];
}

/** Conversations of Roo and Cline as they keep them; in XML mode results are texts of the user's. */
export const roo: Form = {
  about: 'conversations of Roo and Cline (api_conversation_history.json)',
  matches: (path) => path.endsWith('api_conversation_history.json'),
  read: (text, path) => {
    const entries = JSON.parse(text) as readonly Entry[];
    const messages = entries.map(({ role, content }): Message => ({ role, content: partsOf(content) }));
    const answers = messages.filter(({ role }) => role === 'assistant').length;
    return answers < 3 ? [] : [{ agent: 'Roo', name: path, messages }];
  },
};

function partsOf(content: Entry['content']): unknown {
  if (typeof content === 'string') return content;
  return content.flatMap((part) => (part.type === 'text' ? { type: 'text', text: part.text } : []));
}
