import type { Message } from '../recordings/conversation.ts';
import { textOf } from './shown.ts';

/** A text of a message, from the request before an answer on. */
interface Version {
  readonly from: number;
  readonly text: string;
}

/** The texts of a recording's messages (arguments of calls are part of an answer's text) as each of its requests had them. A request is named by the index of its answer. */
export class SentTexts {
  readonly #originals: readonly string[];
  readonly #versions = new Map<number, Version[]>();
  readonly #firstChanges = new Map<number, number>();
  /** How many messages the newest request had. */
  #sent = 0;

  constructor(messages: readonly Message[]) {
    this.#originals = messages.map(textOf);
  }

  /** Notes the texts of all messages of a request. Requests come in order. */
  note(at: number, texts: readonly string[]): void {
    for (const [i, text] of texts.entries()) {
      if (text === this.textAt(i, at)) continue;
      this.#versions.set(i, [...(this.#versions.get(i) ?? []), { from: at, text }]);
      if (i < this.#sent && !this.#firstChanges.has(at)) this.#firstChanges.set(at, i);
    }
    this.#sent = texts.length;
  }

  /** A message's text in the request before an answer; later messages have the text that the client would send. */
  textAt(i: number, at: number): string {
    return this.#versions.get(i)?.findLast(({ from }) => from <= at)?.text ?? this.originalOf(i);
  }

  originalOf(i: number): string {
    return this.#originals[i] ?? '';
  }

  /** The first message that requests after one and up to another changed; `Infinity` if they sent all as before. */
  firstChange(after: number, upTo: number): number {
    const changes = [...this.#firstChanges].filter(([at]) => at > after && at <= upTo);
    return Math.min(...changes.map(([, first]) => first));
  }

  /** How many requests changed what an earlier one had sent. */
  get changes(): number {
    return this.#firstChanges.size;
  }

  /** The same requests with other texts for what was cut. */
  mapCuts(textOf: (i: number, sent: string) => string): SentTexts {
    const mapped = new SentTexts(this.#originals.map((content) => ({ content })));
    for (const [i, versions] of this.#versions) {
      const others = versions.map(({ from, text }) => ({ from, text: textOf(i, text) }));
      mapped.#versions.set(i, others);
    }
    for (const [at, first] of this.#firstChanges) mapped.#firstChanges.set(at, first);
    return mapped;
  }
}
