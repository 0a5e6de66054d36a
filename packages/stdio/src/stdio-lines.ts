import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FailureReporter } from 'mcp-pruner/base/failures.ts';
import type { Connection, Replies } from 'mcp-pruner/mcp/connection.ts';
import { invalidRequest, messageText, readPayload } from 'mcp-pruner/mcp/envelope.ts';
import { namesVersion } from 'mcp-pruner/mcp/era.ts';
import { jsonPieces } from 'mcp-pruner/mcp/json-pieces.ts';
import { failure, type Notification } from 'mcp-pruner/mcp/json-rpc.ts';
import { LongStep } from 'mcp-pruner/mcp/long-step.ts';
import type { NewEraStdio } from 'mcp-pruner/mcp/new-era.ts';
import type { ClientOptions, McpServer } from 'mcp-pruner/mcp/server.ts';
import type { ToolContext } from 'mcp-pruner/mcp/tool.ts';

/** A line from the client; without bytes if it was too long to keep. */
export type Line =
  | { readonly tooLong: false; readonly bytes: Buffer }
  | { readonly tooLong: true; readonly bytes: null };

const LF = 0x0a;

/**
 * Splits a byte stream into lines. The last line needs no line end. Also ends if the stream breaks, because a
 * disconnected client needs no answers.
 *
 * @param maxBytes - longer lines are skipped, so that one line cannot exhaust the memory
 */
export async function* readLines(input: Readable, maxBytes: number): AsyncGenerator<Line> {
  let parts: Buffer[] = [];
  let size = 0;
  const line = (): Line => {
    const whole: Line =
      size > maxBytes ? { tooLong: true, bytes: null } : { tooLong: false, bytes: Buffer.concat(parts) };
    parts = [];
    size = 0;
    return whole;
  };
  const keep = (part: Buffer): void => {
    size += part.length;
    if (size <= maxBytes) parts.push(part);
    else parts = [];
  };

  try {
    for await (const chunk of input as AsyncIterable<Buffer>) {
      let start = 0;
      for (let end = chunk.indexOf(LF); end >= 0; end = chunk.indexOf(LF, start)) {
        keep(chunk.subarray(start, end));
        yield line();
        start = end + 1;
      }
      keep(chunk.subarray(start));
    }
  } catch {
    return; // the pipe broke
  }
  if (size > 0) yield line();
}

export interface StdioOptions {
  readonly server: McpServer;
  readonly tools?: readonly string[];
  readonly scope?: NonNullable<ToolContext['scope']>;
  /** The client's messages, one JSON text per line. */
  readonly input: Readable;
  /** Receives only protocol answers. */
  readonly output: Writable;
  /** Stops the service at once: aborts running calls and sends no more answers. */
  readonly stop: AbortSignal;
  /** Time for running calls to complete after the end of input, so that they can still be answered. */
  readonly graceMs: number;
  readonly onFailure: FailureReporter;
}

/** Larger than any JSON-escaped text accepted by `prune_text`. */
export const MAX_LINE_BYTES = 128 * 1024 * 1024;
/** Pieces of an answer are combined to writes of up to this size. */
const WRITE_CHARS = 64 * 1024;

/** Maximum number of messages in flight or waiting; beyond it, reading pauses. */
const MAX_WAITING = 1_000;

/**
 * Serves one client over a pair of streams until the client closes its side or disconnects, or `stop` is aborted. Never
 * rejects. Invalid lines are answered with an error. Requests run in parallel.
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
  const connection = server.connect({ notify, tools, scope });
  const client: Client = { connection, writer, newEra: newEraOf(server, { tools, scope }, writer) };
  const gone = AbortSignal.any([stop, writer.broken]);
  const abandon = (): void => {
    connection.close();
    input.destroy();
  };
  if (gone.aborted) return abandon();
  gone.addEventListener('abort', abandon, { once: true });

  const running = new Set<Promise<void>>();
  for await (const line of readLines(input, MAX_LINE_BYTES)) {
    const work = answer(client, line.bytes)
      .catch((cause: unknown) => onFailure('internal_error', cause))
      .finally(() => running.delete(work));
    running.add(work);
    if (running.size >= MAX_WAITING) await Promise.race(running);
  }

  const allDone = Promise.all(running);
  await within(allDone, graceMs, gone);
  connection.close();
  await client.newEra.close();
  if (!gone.aborted) await within(writer.flushed(), graceMs, gone);
  gone.removeEventListener('abort', abandon);
}

interface Client {
  readonly connection: Connection;
  readonly writer: AnswerWriter;
  readonly newEra: NewEraLoader;
}

interface NewEraLoader {
  /** Loads the SDK on first use. */
  load(): Promise<NewEraStdio>;
  isLoaded(): boolean;
  close(): Promise<void>;
}

function newEraOf(server: McpServer, client: ClientOptions, writer: AnswerWriter): NewEraLoader {
  let loaded: Promise<NewEraStdio> | null = null;
  return {
    load() {
      loaded ??= import('mcp-pruner/mcp/new-era.ts').then(
        ({ NewEraStdio }) => new NewEraStdio(server, client, (message) => writer.write(message)),
      );
      return loaded;
    },
    isLoaded: () => loaded !== null,
    close: async () => (await loaded)?.close(),
  };
}

async function answer({ connection, writer, newEra }: Client, bytes: Buffer | null): Promise<void> {
  const deliver = (answer: Replies): Promise<void> => writer.write(answer);
  if (bytes === null) return deliver(failure(null, invalidRequest(`a message is larger than ${MAX_LINE_BYTES} bytes`)));
  if (!bytes.some((byte) => byte > 0x20)) return; // an empty line, or only a CR
  const text = await messageText(bytes);
  if (typeof text !== 'string') return deliver(failure(null, text));
  const reading = new LongStep();
  const payload = readPayload(text);
  const message = payload.batch ? undefined : payload.messages[0];
  if (message?.kind === 'request' && namesVersion(message)) {
    await connection.asRequest(async () => (await newEra.load()).receive(message));
    return;
  }
  // notifications may omit the version, and a client may use both eras
  if (message?.kind === 'notification' && newEra.isLoaded()) await (await newEra.load()).receive(message);
  await connection.handle(payload, reading, deliver);
}

/** Writes answers in sequence, each as one line, no faster than the client reads. */
class AnswerWriter {
  readonly #output: Writable;
  readonly #broken = new AbortController();
  #last: Promise<void> = Promise.resolve();

  constructor(output: Writable) {
    this.#output = output;
    for (const event of ['error', 'close']) output.on(event, () => this.#broken.abort());
  }

  /** Aborted when the client can no longer receive answers. */
  get broken(): AbortSignal {
    return this.#broken.signal;
  }

  write(reply: object): Promise<void> {
    this.#last = this.#last.then(() => this.#writeLine(reply));
    return this.#last;
  }

  async flushed(): Promise<void> {
    await this.#last;
    if (this.#output.writableLength > 0) await new Promise((resolve) => this.#output.write('', resolve));
  }

  async #writeLine(reply: object): Promise<void> {
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
    await once(this.#output, 'drain', { signal: this.#broken.signal }).catch(() => {}); // or the client disconnected
  }
}

/** Waits for work, at most `limitMs` or until the signal is aborted. */
async function within(work: Promise<unknown>, limitMs: number, signal: AbortSignal): Promise<void> {
  const done = new AbortController();
  const over = sleep(limitMs, undefined, { signal: AbortSignal.any([signal, done.signal]) });
  await Promise.race([work, over.catch(() => {})]); // ended early by a signal
  done.abort();
}
