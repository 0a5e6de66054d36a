import type { Io } from 'mcp-pruner/cli/command.ts';
import { wrapped } from 'mcp-pruner/cli/table.ts';

type Stderr = Pick<Io, 'err' | 'errIsTerminal' | 'errColumns'>;

/** Prints lines on stderr, wrapped to the terminal width; holds them while an agent draws on the terminal. */
export class HeldLines {
  readonly #io: Stderr;
  #waiting: string[] | null = null;

  constructor(io: Stderr) {
    this.#io = io;
  }

  say(line: string): void {
    const { errColumns: columns } = this.#io;
    if (this.#waiting === null) this.#io.err(wrapped(line, 'mcp-pruner: ', { columns }, '  '));
    else this.#waiting.push(line);
  }

  hold(): void {
    if (this.#io.errIsTerminal) this.#waiting = [];
  }

  release(): void {
    const lines = this.#waiting ?? [];
    this.#waiting = null;
    for (const line of lines) this.say(line);
  }
}
