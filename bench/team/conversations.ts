import { logText } from '../soak/stage.ts';

const LINES = 150;
/** Conversations of one desk begin alike. */
const DESKS = 50;
/** Every so many turns all conversations read the same text, at about the same time. */
const SHARED_EVERY = 3;

/** The conversation of an agent, turn by turn, in one of two wires. */
export class Conversation {
  readonly number: number;
  readonly isMessages: boolean;
  readonly #messages: object[];
  /** Texts by the turn that brought them. */
  readonly texts: string[] = [];
  readonly #streams: boolean;

  constructor(number: number) {
    this.number = number;
    this.isMessages = number % 2 === 1;
    this.#streams = number % 4 >= 2;
    const question = { role: 'user', content: `Which payment of desk ${number % DESKS} fails, and why?` };
    this.#messages = this.isMessages ? [question] : [{ role: 'system', content: nameOf(number) }, question];
  }

  get path(): string {
    return this.isMessages ? '/v1/messages' : '/v1/chat/completions';
  }

  /** One more tool call with its result, of which the turn is made. */
  next(): void {
    const turn = this.texts.length;
    const isShared = turn % SHARED_EVERY === SHARED_EVERY - 1;
    const seed = isShared ? 1_000_000 + turn : this.number * 1_000 + turn;
    const text = logText(seed, LINES);
    this.texts.push(text);
    this.#messages.push(...(this.isMessages ? asMessages(turn, seed, text) : asChat(turn, seed, text)));
  }

  /** The request of the newest turn. */
  body(): string {
    const shape = this.isMessages ? { model: 'm', max_tokens: 100, system: nameOf(this.number) } : { model: 'm' };
    return JSON.stringify({ ...shape, ...(this.#streams && { stream: true }), messages: this.#messages });
  }
}

const NAME = /agent number (\d+)\./;

/** What tells it from the others; the texts of all of them are read with the same question. */
function nameOf(number: number): string {
  return `You are agent number ${number}.`;
}

/** Which conversation a request belongs to. */
export function numberOf(body: string): number {
  return Number(NAME.exec(body)?.[1] ?? Number.NaN);
}

function asChat(turn: number, seed: number, text: string): object[] {
  const id = `call_${turn}`;
  const call = { id, type: 'function', function: { name: 'bash', arguments: `{"command":"cat job-${seed}.log"}` } };
  return [
    { role: 'assistant', content: null, tool_calls: [call] },
    { role: 'tool', tool_call_id: id, content: text },
  ];
}

function asMessages(turn: number, seed: number, text: string): object[] {
  const id = `toolu_${turn}`;
  const call = { type: 'tool_use', id, name: 'bash', input: { command: `cat job-${seed}.log` } };
  return [
    { role: 'assistant', content: [call] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: text }] },
  ];
}
