import { type SessionMessage, Thread } from './recorded.ts';

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

/** A conversation whose file has a tree of entries: one that continues an earlier entry drops what stands between. */
export class BranchedThread extends ChatThread {
  /** The entries of the current branch, with the number of messages up to each. */
  #path: { readonly id: string; readonly messages: number }[] = [];

  /** Ends an entry, which later ones may continue. */
  endEntry(id: string): void {
    this.#path.push({ id, messages: this.messages.length });
  }

  /** Goes back to an entry. @returns whether it is on the current branch */
  backTo(id: string): boolean {
    const last = this.#path.at(-1);
    if (last === undefined || last.id === id) return true;
    const at = this.#path.findLastIndex((entry) => entry.id === id);
    const entry = this.#path[at];
    if (entry === undefined) return false;
    this.restart(this.messages.slice(0, entry.messages));
    this.#path = this.#path.slice(0, at + 1);
    return true;
  }

  /** Messages from an entry on; none if it is not on the current branch. */
  since(id: unknown): readonly SessionMessage[] {
    const at = this.#path.findIndex((entry) => entry.id === id);
    return at < 0 ? [] : this.messages.slice(this.#path[at - 1]?.messages ?? 0);
  }

  begin(): void {
    this.restart();
    this.#path = [];
  }
}
