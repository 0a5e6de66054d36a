import { LRUCache } from 'lru-cache';
import type { AnswerTurn } from '../../dialects/dialect.ts';
import type { FailureReporter } from '../../failures.ts';
import { Conversation } from '../../goal/conversation.ts';
import type { KeptAnswers } from '../ports/answers.ts';
import { foldAnswer } from './find-texts.ts';

/** Most answers that requests may still continue from. */
const MAX_ANSWERS = 2_000;
/** Most calls of these answers together, some 100 bytes each where they are not shared. */
const MAX_ANSWER_NOTES = 200_000;

/** Conversations up to answers that the provider stores, for requests that continue from one without repeating it. */
export class AnsweredConversations {
  readonly #durable: KeptAnswers | undefined;
  readonly #onFailure: FailureReporter;
  readonly #memory = new LRUCache<string, Conversation>({
    max: MAX_ANSWERS,
    maxSize: MAX_ANSWER_NOTES,
    sizeCalculation: (conversation) => 1 + conversation.notes,
  });

  /** @param durable - also stores the answers, so that they survive a restart */
  constructor(durable: KeptAnswers | undefined, onFailure: FailureReporter) {
    this.#durable = durable;
    this.#onFailure = onFailure;
  }

  get(answerId: string): Conversation | undefined {
    return this.#memory.get(answerId);
  }

  /** Records an answer: known here at once, durable when it resolves. Never rejects. */
  async add(before: Conversation, { id, items }: AnswerTurn): Promise<void> {
    const after = before.fork();
    for (const { said, calls } of items) {
      const made = calls.map(({ id: callId, name, args }) => ({ id: callId, call: { name, args } }));
      foldAnswer(after, said, made);
    }
    // exactly as another process will read it
    this.#memory.set(id, after.kept());
    const failed = (cause: unknown): void => this.#onFailure('answer_not_kept', cause);
    await this.#durable?.keep(id, after.toText()).catch(failed);
  }

  /** Looks up an answer that a request continues from. @returns whether it was found in the store */
  async learn(answerId: string): Promise<boolean> {
    if (answerId === '' || !this.#durable || this.#memory.has(answerId)) return false;
    const text = await this.#durable.find(answerId).catch((cause: unknown) => {
      this.#onFailure('answer_not_found', cause);
      return null;
    });
    if (text !== null) this.#memory.set(answerId, Conversation.fromText(text));
    return text !== null;
  }
}
