import type { Message } from '../recordings/conversation.ts';
import { type Fact, type GroundedAnswer, groundedAnswers, laterAnswers } from './basis.ts';
import { editsIn } from './edits.ts';
import { findingsIn } from './findings.ts';
import { literalsIn } from './literals.ts';
import type { SentTexts } from './sent-texts.ts';
import { bareLine, callsIn, contentOf, ShownText, stringsIn } from './shown.ts';

/** Something of earlier results that an answer came back to, and the results that had it. */
export interface Need {
  /** Index of the answer. */
  readonly at: number;
  /** Indices of the results before it, oldest first; one of them must still have it. */
  readonly from: readonly number[];
  readonly text: string;
}

/** A text that an edit replaces. */
export interface Block extends Need {
  /** It stood in one result as a whole; otherwise only line by line in several. */
  readonly whole: boolean;
  /** Line by line: the lines that stood in results alone, each with these. */
  readonly lines: readonly Need[];
}

/** All that a conversation came back to. */
export interface Needs {
  readonly lines: readonly Need[];
  readonly edits: readonly (readonly Block[])[];
  /** Texts that an edit replaces and that the model had written itself, in an answer or in arguments of a call. */
  readonly written: readonly Need[];
  readonly literals: readonly Need[];
  readonly findings: readonly Need[];
  /** Answers that rest on facts of the results before them. */
  readonly answers: readonly GroundedAnswer[];
  /** Answers that rest on facts of results before those. */
  readonly later: readonly GroundedAnswer[];
}

/** A used line is at least so long. */
const LEAST_LINE = 20;

/** What was said and shown up to a point of a conversation. */
class Known {
  readonly results = new Map<number, ShownText>();
  readonly #byLine = new Map<string, number[]>();
  readonly #byWord = new Map<string, Set<string>>();
  readonly #byLiteral = new Map<string, number[]>();
  readonly #said: string[] = [];
  readonly #saidLines = new Set<string>();
  readonly #saidBlocks: { readonly at: number; readonly text: string }[] = [];

  addResult(at: number, text: string): void {
    const shown = new ShownText(text);
    this.results.set(at, shown);
    for (const line of new Set(shown.bare)) {
      push(this.#byLine, line, at);
      if (line.length < LEAST_LINE) continue;
      const word = longestWord(line);
      const lines = this.#byWord.get(word);
      if (lines) lines.add(line);
      else this.#byWord.set(word, new Set([line]));
    }
    for (const literal of literalsIn(text)) push(this.#byLiteral, literal, at);
  }

  addSaid(at: number, text: string): void {
    this.#said.push(text);
    const lines = text.split('\n').map(bareLine);
    for (const line of lines) this.#saidLines.add(line);
    this.#saidBlocks.push({ at, text: lines.join('\n') });
  }

  wasSaid(text: string): boolean {
    return this.#said.some((said) => said.includes(text));
  }

  withLine(line: string): readonly number[] {
    return this.#byLine.get(line) ?? [];
  }

  withLiteral(literal: string): readonly number[] {
    return this.#byLiteral.get(literal) ?? [];
  }

  /** Known lines that a text repeats and that only results had until now. */
  repeatedIn(text: string): string[] {
    const out: string[] = [];
    for (const word of new Set(text.match(/\w{1,100}/g) ?? [])) {
      for (const line of this.#byWord.get(word) ?? []) if (text.includes(line) && !this.wasSaid(line)) out.push(line);
    }
    return out;
  }

  /** Where the text that an edit replaces came from; `null` when the model wrote it itself or nothing shows it. */
  blockOf(at: number, text: string): Block | null {
    if (this.#sayingBlock(text).length > 0) return null;
    const from = this.#showingBlock(text);
    if (from.length > 0) return { at, from, text, whole: true, lines: [] };
    const lines: Need[] = [];
    for (const line of text.split('\n')) {
      if (line === '' || this.#saidLines.has(line)) continue;
      const shown = this.withLine(line);
      if (shown.length === 0) return null;
      lines.push({ at, from: shown, text: line });
    }
    return lines.length === 0 ? null : { at, from: [], text, whole: false, lines };
  }

  /** Where the text that an edit replaces stands if the model wrote it itself; `null` otherwise. */
  writtenBlockOf(at: number, text: string): Need | null {
    const said = this.#sayingBlock(text);
    return said.length === 0 ? null : { at, from: [...said, ...this.#showingBlock(text)], text };
  }

  #sayingBlock(text: string): number[] {
    return this.#saidBlocks.flatMap((said) => (said.text.includes(text) ? said.at : []));
  }

  #showingBlock(text: string): number[] {
    return [...this.results].flatMap(([i, shown]) => (shown.hasBlock(text) ? i : []));
  }
}

function push(map: Map<string, number[]>, key: string, value: number): void {
  const list = map.get(key);
  if (list) list.push(value);
  else map.set(key, [value]);
}

function longestWord(line: string): string {
  return (line.match(/\w{1,100}/g) ?? []).reduce((a, b) => (b.length > a.length ? b : a), '');
}

/** Finds what the answers of a conversation came back to. */
export function needsOf(messages: readonly Message[]): Needs {
  const known = new Known();
  const lines = new Map<string, Need>();
  const literals = new Map<string, Need>();
  const edits: Block[][] = [];
  const written: Need[] = [];
  for (const [at, message] of messages.entries()) {
    const content = contentOf(message);
    if (message.role === 'tool') known.addResult(at, content);
    else if (message.role !== 'assistant') known.addSaid(at, content);
    else {
      const args = callsIn(message).map((call) => call.args);
      const called = args.flatMap(stringsIn);
      const said = [content, ...called].join('\n');
      for (const line of known.repeatedIn(said)) {
        if (!lines.has(line)) lines.set(line, { at, from: [...known.withLine(line)], text: line });
      }
      for (const literal of literalsIn([...called, ...exitCodes(content)].join('\n'))) {
        const from = known.withLiteral(literal);
        if (from.length > 0 && !literals.has(literal) && !known.wasSaid(literal)) {
          literals.set(literal, { at, from: [...from], text: literal });
        }
      }
      for (const blocks of args.flatMap(editsIn)) {
        const found = blocks.flatMap((block) => known.blockOf(at, block) ?? []);
        if (found.length > 0) edits.push(found);
        written.push(...blocks.flatMap((block) => known.writtenBlockOf(at, block) ?? []));
      }
      known.addSaid(at, said);
    }
  }
  const [findings, answers, later] = [findingsIn(messages), groundedAnswers(messages), laterAnswers(messages)];
  return { lines: [...lines.values()], edits, written, literals: [...literals.values()], findings, answers, later };
}

function exitCodes(text: string): string[] {
  return text.match(/\bexit(?:ed)?(?: with)?(?: code| status)? \d{1,3}\b/gi) ?? [];
}

/** Whether what an answer came back to stood in the results as its request sent them. */
export class Sent {
  readonly #texts: SentTexts;
  /** The texts of results, whatever request sent them. */
  readonly #shown = new Map<number, ShownText>();

  constructor(texts: SentTexts) {
    this.#texts = texts;
  }

  hasLine({ at, from, text }: Need): boolean {
    return from.some((i) => this.#text(i, at).hasLine(text));
  }

  hasLiteral({ at, from, text }: Need): boolean {
    return from.some((i) => this.#text(i, at).text.includes(text));
  }

  /** Whether every fact that an answer rests on stands in one of its lines. */
  hasBasis({ at, facts }: GroundedAnswer): boolean {
    return facts.every((fact) => this.hasFact(at, fact));
  }

  hasFact(at: number, { from, beside, lines }: Fact): boolean {
    return [from, ...beside].some((i) => {
      const shown = new Set(this.#text(i, at).text.split('\n'));
      return lines.some((line) => shown.has(line));
    });
  }

  hasEdit(blocks: readonly Block[]): boolean {
    return blocks.every(({ at, whole, from, text, lines }) =>
      whole ? from.some((i) => this.#text(i, at).hasBlock(text)) : lines.every((line) => this.hasLine(line)),
    );
  }

  hasWritten({ at, from, text }: Need): boolean {
    return from.some((i) => this.#text(i, at).hasBlock(text));
  }

  #text(i: number, at: number): ShownText {
    const text = this.#texts.textAt(i, at);
    const known = this.#shown.get(i);
    if (known?.text === text) return known;
    const shown = new ShownText(text);
    this.#shown.set(i, shown);
    return shown;
  }
}
