import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { PassThrough, type Readable, type Writable } from 'node:stream';
import { main } from 'mcp-pruner/cli/main.ts';
import { onTestFinished } from 'vitest';
import { fakeIo, type Ran } from '../../../../test/cli/fake-io.ts';
import { coldProgram } from '../../../../test/helpers/built.ts';
import { program } from '../../../../test/helpers/program.ts';

export type Json = Readonly<Record<string, unknown>>;

export interface Answer {
  readonly jsonrpc: string;
  readonly id: string | number | null;
  readonly result?: Json;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: Json };
}

export interface StartOptions {
  readonly args?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** For a server that several tests share; the caller then ends it. */
  readonly keep?: boolean;
}

/** The variables of a machine on which nothing is configured and no pruner listens. */
export function environment(given: Readonly<Record<string, string>> = {}): Record<string, string> {
  return { PATH: process.env.PATH ?? '', HOME: '/nonexistent', LC_ALL: 'C.UTF-8', PRUNER_URL: '', ...given };
}

/** A server over a pair of streams, spoken to in raw lines. */
abstract class LineClient {
  /** Every line that the server wrote, in order. */
  readonly lines: string[] = [];
  readonly #input: Writable;
  readonly #waiting = new Map<string, (answer: Answer) => void>();
  readonly #answers = new Map<string, Answer>();
  #nextId = 1;

  constructor(input: Writable, output: Readable) {
    this.#input = input;
    this.#readLines(output);
  }

  /** Its diagnostics so far. */
  abstract get stderr(): string;

  /** Sends bytes as they are. */
  raw(text: string | Buffer): void {
    this.#input.write(text);
  }

  send(message: unknown): void {
    this.raw(`${JSON.stringify(message)}\n`);
  }

  /** The answer with this id, whether it came already or will come. */
  answer(id: string | number | null): Promise<Answer> {
    const key = JSON.stringify(id);
    const come = this.#answers.get(key);
    if (come !== undefined) return Promise.resolve(come);
    return new Promise((settle) => this.#waiting.set(key, settle));
  }

  request(method: string, params?: unknown): Promise<Answer> {
    const id = this.#nextId++;
    this.send({ jsonrpc: '2.0', id, method, ...(params === undefined ? {} : { params }) });
    return this.answer(id);
  }

  /** Calls a tool. @returns the id at once, so that a test can cancel it */
  start(name: string, args: Json): number {
    const id = this.#nextId++;
    this.send({ jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: args } });
    return id;
  }

  /** Calls a tool. @returns its text; the result must hold one text item and nothing else */
  async call(name: string, args: Json): Promise<string> {
    const answer = await this.answer(this.start(name, args));
    return textOf(answer);
  }

  #readLines(output: Readable): void {
    let parts: string[] = [];
    output.setEncoding('utf8').on('data', (text: string) => {
      const [first = '', ...rest] = text.split('\n');
      parts.push(first);
      for (const next of rest) {
        this.#take(parts.join(''));
        parts = [next];
      }
    });
  }

  #take(line: string): void {
    this.lines.push(line);
    const message = JSON.parse(line) as Answer | readonly Answer[];
    for (const answer of Array.isArray(message) ? (message as readonly Answer[]) : [message as Answer]) {
      const key = JSON.stringify(answer.id);
      this.#answers.set(key, answer);
      this.#waiting.get(key)?.(answer);
      this.#waiting.delete(key);
    }
  }
}

/** The built server as a process. */
export class RawClient extends LineClient {
  readonly child: ChildProcessWithoutNullStreams;
  #stderr = '';

  constructor({ args = [], env, cwd, keep = false }: StartOptions = {}) {
    const child = spawn(process.execPath, [coldProgram(), ...args], { cwd, env: environment(env) });
    super(child.stdin, child.stdout);
    this.child = child;
    if (!keep) onTestFinished(() => void child.kill('SIGKILL'));
    child.stdin.on('error', () => {}); // tests write to servers that have ended
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr += text;
    });
  }

  override get stderr(): string {
    return this.#stderr;
  }

  /** Settles with the exit code, and the signal that ended it. */
  async ended(): Promise<[number | null, string | null]> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) {
      return [this.child.exitCode, this.child.signalCode];
    }
    return (await once(this.child, 'exit')) as [number | null, string | null];
  }
}

/** The server in this process: for tests of what it answers, which a start of the program would only slow down. */
export class LocalClient extends LineClient {
  readonly #input: PassThrough;
  readonly #ran: () => Ran;
  readonly #code: Promise<number>;

  constructor({ args = ['stdio'], env, cwd = process.cwd(), keep = false }: StartOptions = {}) {
    const [input, output] = [new PassThrough(), new PassThrough()];
    super(input, output);
    this.#input = input;
    const { io, ran } = fakeIo({ env: environment(env), cwd, streams: () => ({ input, output }) });
    this.#ran = () => ran(0);
    this.#code = main(args, io, program);
    if (!keep) onTestFinished(async () => void (await this.close()));
  }

  override get stderr(): string {
    return this.#ran().err;
  }

  /** Ends its input and waits for its end. @returns the exit code */
  close(): Promise<number> {
    this.#input.end();
    return this.#code;
  }
}

export function textOf({ result, error }: Answer): string {
  if (result === undefined) throw new Error(`no result but ${JSON.stringify(error)}`);
  const { content, ...rest } = result as { content: readonly { type: string; text: string }[] };
  const [item] = content;
  if (content.length !== 1 || item?.type !== 'text' || Object.keys(rest).length > 0) {
    throw new Error(`not one text and nothing else: ${JSON.stringify(result).slice(0, 200)}`);
  }
  return item.text;
}

/** Whether a process is there; a zombie that nobody has collected yet is not. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
