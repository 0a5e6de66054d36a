import { parsed } from '../../src/wires/json/value.ts';
import type { Message } from '../recordings/conversation.ts';

const NUMBER = /^[ \t]{0,40}\d{1,7}(?:[:|→│]| \||\t|\. )/u;
/** `path:12:` of a search result. */
const PLACE = /^[^\s:]{1,300}:\d{1,7}[:-]/;
const LONGEST_LINE = 2_000;

/** A line without its indentation and the number or place that a tool put in front. */
export function bareLine(line: string): string {
  return line.slice(0, LONGEST_LINE).replace(NUMBER, '').replace(PLACE, '').trim();
}

/** A text by its lines as they are compared: bare, in order, and as a set. */
export class ShownText {
  readonly text: string;
  readonly bare: readonly string[];
  readonly #set: ReadonlySet<string>;
  #joined: string | null = null;

  constructor(text: string) {
    this.text = text;
    this.bare = text.split('\n').map(bareLine);
    this.#set = new Set(this.bare);
  }

  hasLine(line: string): boolean {
    return this.#set.has(line);
  }

  /** Whether the lines stand in it one behind the other; the first and the last may be parts of a line. */
  hasBlock(block: string): boolean {
    this.#joined ??= this.bare.join('\n');
    return this.#joined.includes(block);
  }
}

/** The text of a message, and every string in the arguments of its calls. */
export function textOf(message: Message): string {
  return [contentOf(message), ...callsIn(message).flatMap(({ args }) => stringsIn(args))].join('\n');
}

/** Every string in a call's arguments, decoded. */
export function stringsIn(args: string): string[] {
  const out: string[] = [];
  const walk = (value: unknown): void => {
    if (typeof value === 'string') out.push(value);
    else if (Array.isArray(value)) value.forEach(walk);
    else if (value !== null && typeof value === 'object') Object.values(value).forEach(walk);
  };
  const value = parsed(args);
  walk(value === undefined ? args : value);
  return out;
}

/** The text of a message, without calls. */
export function contentOf({ content }: Message): string {
  return typeof content === 'string' ? content : '';
}

export interface Call {
  readonly id: string;
  readonly name: string;
  readonly args: string;
}

/** The calls of an answer. */
export function callsIn({ tool_calls: calls }: Message): Call[] {
  return ((calls as readonly Message[] | undefined) ?? []).map(({ id, function: called }) => {
    const { name, arguments: args } = called as { name: string; arguments: string };
    return { id: String(id), name, args };
  });
}
