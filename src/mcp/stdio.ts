import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FailureReporter } from '../failures.ts';
import type { Answer, Connection } from './connection.ts';
import { invalidRequest, messageText } from './envelope.ts';
import { jsonPieces } from './json-pieces.ts';
import { failure, type Notification } from './json-rpc.ts';
import { readLines } from './read-lines.ts';
import type { McpServer } from './server.ts';
import type { ToolContext } from './tool.ts';

export interface StdioOptions {
  readonly server: McpServer;
  /** The names of the tools that the client is to see; all of the server's by default. */
  readonly tools?: readonly string[];
  /** The project and the task that the client works on. */
  readonly scope?: NonNullable<ToolContext['scope']>;
  /** The client's messages, one JSON text a line. */
  readonly input: Readable;
  /** Takes answers and nothing else. */
  readonly output: Writable;
  /** Ends the service at once: calls that run are told to stop, and nothing more is answered. */
  readonly stop: AbortSignal;
  /** How long calls that run may go on after the end of the input, so that what was asked is still answered. */
  readonly graceMs: number;
  /** A bug in the transport itself. */
  readonly onFailure: FailureReporter;
}

/** Larger than any text that `prune_text` takes, escapes included. */
export const MAX_LINE_BYTES = 128 * 1024 * 1024;
/** Pieces of an answer are written together up to this size. */
const WRITE_CHARS = 64 * 1024;

/** Messages that are worked on or wait; with so many, no further one is read. */
const MAX_WAITING = 1_000;

/**
 * Serves one client over a pair of streams until it closes its side or goes away, or until `stop` fires. Never rejects.
 * A line that is no message is answered and changes nothing else; requests run side by side.
 */
export async function serveStdio({
  server,
  tools,
  scope,
  input,
  output,
  stop,
  graceMs,
  onFailure,
}: StdioOptions): Promise<void> {
  const writer = new AnswerWriter(output);
  const notify = (notification: Notification): void =>
    void writer.write(notification).catch((cause: unknown) => onFailure('not_written', cause));
  const connection = server.connect({ notify, ...(tools && { tools }), ...(scope && { scope }) });
  const gone = AbortSignal.any([stop, writer.broken]);
  const abandon = (): void => {
    connection.close();
    input.destroy();
  };
  if (gone.aborted) return abandon();
  gone.addEventListener('abort', abandon, { once: true });

  const running = new Set<Promise<void>>();
  for await (const line of readLines(input, MAX_LINE_BYTES)) {
    const work = answer(connection, line.bytes, (reply) => writer.write(reply))
      .catch((cause: unknown) => onFailure('internal_error', cause))
      .finally(() => running.delete(work));
    running.add(work);
    if (running.size >= MAX_WAITING) await Promise.race(running);
  }

  const allDone = Promise.all(running);
  await within(allDone, graceMs, gone);
  connection.close();
  if (!gone.aborted) await within(writer.flushed(), graceMs, gone);
  gone.removeEventListener('abort', abandon);
}

async function answer(
  connection: Connection,
  bytes: Buffer | null,
  deliver: (answer: Answer) => Promise<void>,
): Promise<void> {
  if (bytes === null) return deliver(failure(null, invalidRequest(`a message is larger than ${MAX_LINE_BYTES} bytes`)));
  if (!bytes.some((byte) => byte > 0x20)) return; // an empty line, or the CR of one
  const text = await messageText(bytes);
  if (typeof text === 'string') await connection.receive(text, deliver);
  else await deliver(failure(null, text));
}

/** Writes answers one after the other, each as one line, no faster than the client reads. */
class AnswerWriter {
  readonly #output: Writable;
  readonly #broken = new AbortController();
  #last: Promise<void> = Promise.resolve();

  constructor(output: Writable) {
    this.#output = output;
    for (const event of ['error', 'close']) output.on(event, () => this.#broken.abort());
  }

  /** Fires when the client no longer takes answers. */
  get broken(): AbortSignal {
    return this.#broken.signal;
  }

  write(reply: Answer | Notification): Promise<void> {
    this.#last = this.#last.then(() => this.#writeLine(reply));
    return this.#last;
  }

  /** Settles when everything written so far has left this process. */
  async flushed(): Promise<void> {
    await this.#last;
    if (this.#output.writableLength > 0) await new Promise((resolve) => this.#output.write('', resolve));
  }

  async #writeLine(reply: Answer | Notification): Promise<void> {
    let text = '';
    for (const piece of jsonPieces(reply)) {
      text += piece;
      if (text.length < WRITE_CHARS) continue;
      await this.#send(text);
      text = '';
    }
    await this.#send(`${text}\n`);
  }

  async #send(text: string): Promise<void> {
    if (this.#broken.signal.aborted || this.#output.write(text)) return;
    await once(this.#output, 'drain', { signal: this.#broken.signal }).catch(() => {}); // or the client has gone
  }
}

/** Waits for work, at most for a time, and no longer than until a signal. */
async function within(work: Promise<unknown>, limitMs: number, signal: AbortSignal): Promise<void> {
  const done = new AbortController();
  const over = sleep(limitMs, undefined, { signal: AbortSignal.any([signal, done.signal]) });
  await Promise.race([work, over.catch(() => {})]); // ended early by one of the signals
  done.abort();
}
