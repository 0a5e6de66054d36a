import type { Message, Recording, Usage } from './conversation.ts';

/** A conversation that is being read: messages in order, answers as they are completed, and what each was billed for. */
export class Thread {
  readonly messages: Message[] = [];
  /** When each message was complete; 0: unknown. */
  readonly times: number[] = [];
  readonly usage: Usage[] = [];
  readonly #called = new Set<unknown>();

  /** Adds an answer of the model's and returns its index. */
  answer(said: Message, timeMs = 0): number {
    this.#note(said);
    return this.#add(said, timeMs);
  }

  /** Adds blocks to an answer, wherever results of its other blocks stand already. */
  extend(at: number, said: Message, timeMs = 0): void {
    this.#note(said);
    this.times[at] = Math.max(this.times[at] ?? 0, timeMs);
    this.messages[at] = joined(this.messages[at] ?? {}, said);
  }

  /** Adds a result whose call is known; one whose call stands before a compaction is left out. */
  result(id: string, content: string, timeMs = 0): void {
    if (this.#called.has(id)) this.#add({ role: 'tool', tool_call_id: id, content }, timeMs);
  }

  words(role: 'user' | 'system', content: string, timeMs = 0): void {
    if (content !== '') this.#add({ role, content }, timeMs);
  }

  /** Notes what an answer was billed for; a later report of the same answer replaces the earlier one. */
  bill(usage: Usage): void {
    if (this.usage.at(-1)?.at === usage.at) this.usage.pop();
    if (usage.fresh + usage.read + usage.written > 0) this.usage.push(usage);
  }

  #add(message: Message, timeMs: number): number {
    this.times.push(timeMs);
    return this.messages.push(message) - 1;
  }

  #note(said: Message): void {
    for (const { id } of (said.tool_calls as readonly Message[] | undefined) ?? []) this.#called.add(id);
  }
}

function joined(before: Message, after: Message): Message {
  const content = [before.content, after.content].filter((text) => text !== '' && text !== undefined).join('\n');
  const calls = [before, after].flatMap(({ tool_calls: own }) => (own as readonly Message[] | undefined) ?? []);
  return { role: 'assistant', content, ...(calls.length > 0 && { tool_calls: calls }) };
}

/** The times of a recording, where there are any. */
export function timesOf(times: readonly number[]): Pick<Recording, 'times'> {
  return times.some((timeMs) => timeMs > 0) ? { times } : {};
}

/** The parts of a session that are long enough to be a conversation, each with what it was billed for. */
export function recordingsOf(
  threads: readonly Thread[],
  { agent, session, outputPrice }: { readonly agent: string; readonly session: string; readonly outputPrice: number },
): Recording[] {
  return threads
    .map(
      ({ messages, usage, times }, i): Recording => ({
        agent,
        name: `${session}#${i}`,
        group: session,
        messages,
        ...timesOf(times),
        ...(usage.length > 0 && { usage, outputPrice }),
      }),
    )
    .filter(({ messages }) => messages.filter(({ role }) => role === 'assistant').length >= 3);
}
