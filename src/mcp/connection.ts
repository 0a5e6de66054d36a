import { PrunerError } from '../errors.ts';
import { type Message, readPayload } from './envelope.ts';
import { jsonPieces } from './json-pieces.ts';
import { failure, isObject, type Reply, type RpcId } from './json-rpc.ts';
import { LongStep } from './long-step.ts';
import { toWireError } from './wire-error.ts';

/** Requests of a batch that are answered by what they ask for. */
const MAX_BATCH_CALLS = 100;
/** Characters of answers after which the rest of a batch is refused: a few bytes may ask for the largest text again. */
const MAX_BATCH_ANSWER_CHARS = 4_000_000;
/** Requests of one client that run side by side, the delivery of their answers included; others wait. */
const MAX_RUNNING = 32;

export type RpcRequest = Extract<Message, { kind: 'request' }>;
export type Answer = Reply | readonly Reply[];

export interface ConnectionOptions {
  /** Never rejects. */
  readonly answer: (request: RpcRequest, signal: AbortSignal) => Promise<Reply>;
  readonly onClose: () => void;
}

/** A request that runs or waits for its turn. */
interface Call {
  readonly request: RpcRequest;
  readonly controller: AbortController;
}

/** One client's messages in, answers out: requests run side by side, those of one batch one after the other. */
export class Connection {
  readonly #options: ConnectionOptions;
  readonly #calls = new Set<Call>();
  readonly #turns = new Turns(MAX_RUNNING);
  #closed = false;

  constructor(options: ConnectionOptions) {
    this.#options = options;
  }

  /**
   * Takes the JSON text of a message or a batch. Rejects only with what `deliver` throws.
   *
   * @param deliver - takes the answer away; while it does, the answer counts among the requests that run
   * @returns what was delivered: an answer, a batch of them in the order of the requests, or `null` for nothing
   * (notifications, cancelled calls)
   */
  async receive(text: string, deliver: (answer: Answer) => Promise<void> | void = () => {}): Promise<Answer | null> {
    const reading = new LongStep();
    const { batch, messages } = readPayload(text);
    const steps = messages.map((message) => this.#take(message)).filter((step) => step !== null);
    if (steps.length === 0) return null;
    await reading.over();
    await this.#turns.begin();
    try {
      const replies = await this.#inTurn(steps);
      const answer = batch ? replies : replies[0];
      if (answer === undefined || replies.length === 0) return null;
      await deliver(answer);
      return answer;
    } finally {
      this.#turns.end();
    }
  }

  /** The client has gone: every call is told to stop, and nothing more is answered. */
  close(): void {
    this.#closed = true;
    for (const { controller } of this.#calls) controller.abort();
    this.#options.onClose();
  }

  /** What a message asks for; `null` when nothing is to be answered, which is then done. */
  #take(message: Message): Call | Reply | null {
    if (message.kind === 'invalid') return failure(message.id, message.error);
    if (message.kind === 'notification' && message.method === 'notifications/cancelled') this.#cancel(message.params);
    if (message.kind !== 'request' || this.#closed) return null; // a server without state needs no other notification
    const call: Call = { request: message, controller: new AbortController() };
    this.#calls.add(call);
    return call;
  }

  async #inTurn(steps: readonly (Call | Reply)[]): Promise<Reply[]> {
    const replies: Reply[] = [];
    let calls = 0;
    let chars = 0;
    for (const step of steps) {
      const isCall = 'request' in step;
      const tooMuch = isCall && (++calls > MAX_BATCH_CALLS || chars > MAX_BATCH_ANSWER_CHARS);
      const reply = tooMuch ? this.#refuse(step) : isCall ? await this.#run(step) : step;
      if (reply === null) continue;
      replies.push(reply);
      if (steps.length > 1) chars += jsonChars(reply);
    }
    return replies;
  }

  /** `null` for a call that was cancelled. */
  async #run(call: Call): Promise<Reply | null> {
    const { signal } = call.controller;
    const reply = signal.aborted ? null : await this.#options.answer(call.request, signal);
    this.#calls.delete(call);
    return signal.aborted ? null : reply;
  }

  #refuse(call: Call): Reply {
    this.#calls.delete(call);
    return failure(call.request.id, toWireError(batchTooLarge()));
  }

  #cancel(params: unknown): void {
    const id: RpcId | unknown = isObject(params) ? params.requestId : undefined;
    for (const { request, controller } of this.#calls) if (request.id === id) controller.abort();
  }
}

function batchTooLarge(): PrunerError {
  const limits = { max_calls: MAX_BATCH_CALLS, max_answer_chars: MAX_BATCH_ANSWER_CHARS };
  const hint =
    `This call was not run: a batch runs at most ${MAX_BATCH_CALLS} calls, and none after its answers passed ` +
    `${MAX_BATCH_ANSWER_CHARS} characters. Send it again by itself, or in a smaller batch.`;
  return new PrunerError('batch_too_large', { ...limits, hint });
}

/** The size of an answer, which may be longer than a JavaScript string can be. */
function jsonChars(reply: Reply): number {
  let chars = 0;
  for (const piece of jsonPieces(reply)) chars += piece.length;
  return chars;
}

/** Lets so many work at a time; the others wait in the order in which they came. */
class Turns {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(free: number) {
    this.#free = free;
  }

  async begin(): Promise<void> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  end(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free++;
    else next();
  }
}
