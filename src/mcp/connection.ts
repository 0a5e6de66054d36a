import { PrunerError } from '../errors/errors.ts';
import { type Message, type Payload, readPayload } from './envelope.ts';
import { jsonPieces } from './json-pieces.ts';
import { failure, isObject, type Reply, type RpcId, toWireError } from './json-rpc.ts';
import { LongStep } from './long-step.ts';

/** Maximum number of executed requests per batch. */
const MAX_BATCH_CALLS = 100;
/** Maximum total length of a batch's answers, which a few bytes of requests could otherwise make huge. */
const MAX_BATCH_ANSWER_CHARS = 4_000_000;
/** Maximum number of concurrent requests per client, including the delivery of answers; others wait. */
const MAX_RUNNING = 32;

export type RpcRequest = Extract<Message, { kind: 'request' }>;
export type Replies = Reply | readonly Reply[];
type Deliver = (answer: Replies) => Promise<void> | void;

interface ConnectionOptions {
  /** Never rejects. */
  readonly answer: (request: RpcRequest, signal: AbortSignal) => Promise<Reply>;
  readonly onClose: () => void;
}

interface Call {
  readonly request: RpcRequest;
  readonly controller: AbortController;
}

/** The messages of one client and the answers to them. Requests run in parallel, but sequentially within a batch. */
export class Connection {
  readonly #options: ConnectionOptions;
  readonly #calls = new Set<Call>();
  readonly #turns = new Semaphore(MAX_RUNNING);
  #closed = false;

  constructor(options: ConnectionOptions) {
    this.#options = options;
  }

  /**
   * Takes the JSON text of a message or a batch. Rejects only with errors of `deliver`.
   *
   * @param deliver - sends the answer; until it settles, the answer counts as a running request
   * @returns the delivered answer, a batch of answers in the order of the requests, or `null` for none (notifications,
   * cancelled calls)
   */
  receive(text: string, deliver?: Deliver): Promise<Replies | null> {
    const reading = new LongStep();
    return this.handle(readPayload(text), reading, deliver);
  }

  /** Like `receive`, for a text that was parsed in this step. */
  async handle({ batch, messages }: Payload, reading: LongStep, deliver: Deliver = () => {}): Promise<Replies | null> {
    const steps = messages.map((message) => this.#take(message)).filter((step) => step !== null);
    if (steps.length === 0) return null;
    await reading.over();
    return this.asRequest(async () => {
      const replies = await this.#runAll(steps);
      const answer = batch ? replies : replies[0];
      if (answer === undefined || replies.length === 0) return null;
      await deliver(answer);
      return answer;
    });
  }

  /** Runs work that counts as one of the client's running requests. */
  async asRequest<T>(work: () => Promise<T>): Promise<T> {
    await this.#turns.begin();
    try {
      return await work();
    } finally {
      this.#turns.end();
    }
  }

  /** Called when the client has disconnected: aborts all calls and sends no more answers. */
  close(): void {
    this.#closed = true;
    for (const { controller } of this.#calls) controller.abort();
    this.#options.onClose();
  }

  #take(message: Message): Call | Reply | null {
    if (message.kind === 'invalid') return failure(message.id, message.error);
    if (message.kind === 'notification' && message.method === 'notifications/cancelled') this.#cancel(message.params);
    if (message.kind !== 'request' || this.#closed) return null; // a stateless server handles no other notification
    const call: Call = { request: message, controller: new AbortController() };
    this.#calls.add(call);
    return call;
  }

  async #runAll(steps: readonly (Call | Reply)[]): Promise<Reply[]> {
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

/** The size of an answer, which may exceed the maximum length of a JavaScript string. */
function jsonChars(reply: Reply): number {
  let chars = 0;
  for (const piece of jsonPieces(reply)) chars += piece.length;
  return chars;
}

/** A FIFO semaphore. */
class Semaphore {
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
