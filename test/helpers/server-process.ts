import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterwards } from './afterwards.ts';
import { coldProgram } from './built.ts';
import type { LogLine } from './proxy.ts';

/** The compiled program as a process of its own. */
export class ServerProcess {
  readonly child: ChildProcess;
  readonly url: string;
  readonly #output: string[];

  constructor(child: ChildProcess, url: string, output: string[]) {
    this.child = child;
    this.url = url;
    this.#output = output;
  }

  /** What it has written to its log so far. */
  get log(): string {
    return this.#output.join('');
  }

  get logLines(): LogLine[] {
    return this.log
      .split('\n')
      .filter((line) => line.startsWith('{'))
      .map((line) => JSON.parse(line) as LogLine);
  }

  kill(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  /** Waits for its end; the exit code, or the signal that ended it. */
  async ended(): Promise<number | string | null> {
    if (this.child.exitCode === null && this.child.signalCode === null) await once(this.child, 'exit');
    return this.child.exitCode ?? this.child.signalCode;
  }

  chat(body: Buffer): Promise<Response> {
    const headers = { 'content-type': 'application/json' };
    return fetch(`${this.url}/v1/chat/completions`, { method: 'POST', headers, body });
  }

  /** Original lines behind a prune id, or the error's message. */
  async recover(pruneId: string, startLine: number, endLine: number): Promise<string> {
    const ranges = [{ start_line: startLine, end_line: endLine }];
    const call = { name: 'recover_text', arguments: { prune_id: pruneId, ranges, include_line_numbers: false } };
    const answer = await fetch(`${this.url}/rpc`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: call }),
    });
    const { result, error } = (await answer.json()) as {
      result?: { content: [{ text: string }] };
      error?: { message: string };
    };
    return result ? (JSON.parse(result.content[0].text) as { raw_text: string }).raw_text : `error: ${error?.message}`;
  }
}

export interface ProcessOptions {
  readonly env: Readonly<Record<string, string>>;
  /** A shell command that goes before the program in the same process, such as a limit. */
  readonly prelude?: string;
  /** Path of another build's `cli.js`; the present one by default. */
  readonly program?: string;
}

/** Starts the compiled server on a free port and waits until it listens. It is killed with the test. */
export async function startServerProcess({ env, prelude = 'true', ...which }: ProcessOptions): Promise<ServerProcess> {
  const script = `${prelude}; exec "$0" "$@"`;
  const { program = coldProgram() } = which;
  const child = spawn('sh', ['-c', script, process.execPath, program, 'serve', '--port', '0'], {
    env: { PATH: process.env.PATH ?? '', HOME: '/nonexistent', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  afterwards(() => child.kill('SIGKILL'));
  const output: string[] = [];
  child.stderr.on('data', (chunk: Buffer) => output.push(chunk.toString('utf8')));
  const url = await new Promise<string>((resolve, reject) => {
    child.stdout.on('data', (chunk: Buffer) => {
      output.push(chunk.toString('utf8'));
      const found = /"url":"(http:[^"]+)"/.exec(output.join(''))?.[1];
      if (found) resolve(found);
    });
    child.once('exit', (code) => reject(new Error(`the server ended with ${code}: ${output.join('')}`)));
  });
  return new ServerProcess(child, url, output);
}
