import { Thread } from './recorded.ts';

/** A tool call made by the model. */
interface ChatCall {
  readonly id: string;
  readonly name: string;
  readonly args: unknown;
}

/** A conversation rebuilt in the form of chat/completions, for agents whose files do not contain wire messages. */
export class ChatThread extends Thread {
  user(text: string): void {
    if (text !== '') this.add({ role: 'user', content: text }, false);
  }

  assistant(text: string, calls: readonly ChatCall[]): void {
    if (text === '' && calls.length === 0) return;
    const made = calls.map(({ id, name, args }) => ({
      id,
      type: 'function',
      function: { name, arguments: typeof args === 'string' ? args : JSON.stringify(args ?? {}) },
    }));
    this.add({ role: 'assistant', content: text, tool_calls: made.length > 0 ? made : undefined }, true);
  }

  result(id: string, text: string): void {
    this.add({ role: 'tool', tool_call_id: id, content: text }, false);
  }
}
