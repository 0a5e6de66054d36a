import type { ToolCall } from '../dialects/tools.ts';

/** Longest goal handed to the ranking, in characters. */
const MAX_GOAL_CHARS = 3_000;
const MAX_SAID_CHARS = 1_000;
const MAX_CALLS = 5_000;
const MAX_SEEN = 20_000;
/** Words of the user shorter than this ("go on", "yes") need the ones before them. */
const SHORT_WORDS = 40;

/** A call together with what the assistant said when it made it. */
export interface CallInContext extends ToolCall {
  readonly said: string;
  /** The newest words of the user when the call was made. */
  readonly asked: string;
}

/**
 * What the messages `0…i` say, folded one by one. Nothing in it comes from a later message, from time or from chance,
 * so that whatever is derived from it is the same in every later request.
 */
export class Conversation {
  #asked = '';
  #id = '';
  readonly #calls: Map<string, CallInContext>;
  readonly #seen: Map<string, number>;

  constructor(from?: Conversation) {
    this.#asked = from ? from.#asked : '';
    this.#id = from ? from.#id : '';
    this.#calls = new Map(from ? from.#calls : []);
    this.#seen = new Map(from ? from.#seen : []);
  }

  /** An independent copy, to go on from without touching this one. */
  fork(): Conversation {
    return new Conversation(this);
  }

  /** A hash of how the conversation begins; `''` before the user's first message. */
  get id(): string {
    return this.#id;
  }

  /** Notes how the conversation begins; the first call counts. */
  begin(id: string): void {
    this.#id ||= id;
  }

  /** The user's own words (files and injected reminders already out). */
  userSaid(words: string): void {
    const trimmed = words.trim();
    if (trimmed === '') return;
    const needsMore = trimmed.length < SHORT_WORDS && this.#asked !== '';
    this.#asked = (needsMore ? `${trimmed}\n${this.#asked}` : trimmed).slice(0, MAX_GOAL_CHARS);
  }

  assistantSaid(text: string, calls: readonly { readonly id: string; readonly call: ToolCall }[]): void {
    const said = text.trim().slice(-MAX_SAID_CHARS);
    for (const { id, call } of calls) {
      if (this.#calls.size >= MAX_CALLS) this.#calls.delete(this.#calls.keys().next().value ?? '');
      // Legacy function results name their function instead of an id.
      this.#calls.set(id || call.name, { ...call, said, asked: this.#asked });
    }
  }

  /** The call that a result answers, by its id or (legacy) by its function's name. */
  callOf(toolCallId: string, name: string): CallInContext | undefined {
    return this.#calls.get(toolCallId) ?? this.#calls.get(name);
  }

  /** Counts a text under its fingerprint and says how often the same came before. */
  seenBefore(fingerprint: string): number {
    const before = this.#seen.get(fingerprint) ?? 0;
    if (before > 0 || this.#seen.size < MAX_SEEN) this.#seen.set(fingerprint, before + 1);
    return before;
  }

  /**
   * What the reader of a result is after: an explicit question alone, otherwise the call's arguments, what the
   * assistant said when it made the call, and the user's newest words before it.
   */
  goalFor(call: CallInContext | undefined, question: string, argsSaid: string): string {
    if (question.trim() !== '') return question.trim().slice(0, MAX_GOAL_CHARS);
    const parts = [argsSaid, call?.said ?? '', call?.asked || this.#asked];
    return parts
      .map((part) => part.trim())
      .filter((part) => part !== '')
      .join('\n')
      .slice(0, MAX_GOAL_CHARS);
  }

  /** The user's newest words, for files that stand beside them. */
  get asked(): string {
    return this.#asked;
  }
}
