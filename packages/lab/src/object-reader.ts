import { UserError } from 'mcp-pruner/errors/errors.ts';
import { failureReasonOf, type GitChild, type Repository, SILENCE_MS, startGit } from './git.ts';

/** The answer of `cat-file --batch` for one object. */
export type ObjectAnswer = { readonly data: Buffer } | { readonly tooBig: number } | { readonly missing: true };

interface Waiting {
  readonly resolve: (answer: ObjectAnswer) => void;
  readonly reject: (cause: Error) => void;
}

/** Reads objects from one long-lived `git cat-file --batch`. Oversized objects are skipped without buffering. */
export class ObjectReader {
  readonly #child: GitChild;
  readonly #maxBytes: number;
  readonly #waiting: Waiting[] = [];
  #header = Buffer.alloc(0);
  #parts: Buffer[] | null = null;
  #size = 0;
  /** Remaining bytes of the current object including its final LF; -1 between objects. */
  #left = -1;
  #failure: UserError | null = null;

  constructor(repo: Repository, maxBytes: number) {
    this.#maxBytes = maxBytes;
    this.#child = startGit(repo.path, ['cat-file', '--batch']);
    const failureReason = failureReasonOf(this.#child);
    this.#child.stdout.on('data', (chunk: Buffer) => this.#take(chunk));
    this.#child.stdout.on('error', (cause) => this.#fail(cause.message));
    this.#child.stdin.on('error', (cause) => this.#fail(cause.message));
    this.#child.once('error', (cause) => this.#fail(`cannot run git: ${cause.message}`));
    this.#child.once('close', () => this.#fail(failureReason() || 'git cat-file ended'));
  }

  read(id: string): Promise<ObjectAnswer> {
    if (this.#failure) return Promise.reject(this.#failure);
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#fail(`git cat-file gave no answer for ${SILENCE_MS / 1000} s`);
        this.#child.kill('SIGKILL');
      }, SILENCE_MS);
      this.#waiting.push({
        resolve: (answer) => {
          clearTimeout(timer);
          resolve(answer);
        },
        reject: (cause) => {
          clearTimeout(timer);
          reject(cause);
        },
      });
      this.#child.stdin.write(`${id}\n`);
    });
  }

  close(): void {
    this.#failure ??= new UserError('closed');
    this.#child.stdin.end();
    this.#child.kill();
  }

  #fail(message: string): void {
    this.#failure ??= new UserError(message);
    for (const { reject } of this.#waiting.splice(0)) reject(this.#failure);
  }

  #take(input: Buffer): void {
    let chunk = input;
    while (chunk.length > 0) {
      if (this.#left < 0) {
        const lf = chunk.indexOf(10);
        this.#header = Buffer.concat([this.#header, lf < 0 ? chunk : chunk.subarray(0, lf)]);
        if (lf < 0) return;
        chunk = chunk.subarray(lf + 1);
        this.#open(this.#header.toString('latin1'));
        this.#header = Buffer.alloc(0);
      } else {
        const part = chunk.subarray(0, this.#left);
        this.#parts?.push(part);
        this.#left -= part.length;
        chunk = chunk.subarray(part.length);
        if (this.#left === 0) this.#finish();
      }
    }
  }

  /** Parses `<id> <type> <size>` or `<id> missing`. */
  #open(header: string): void {
    const size = Number(header.split(' ')[2]);
    if (!Number.isInteger(size)) {
      this.#waiting.shift()?.resolve({ missing: true });
      return;
    }
    this.#size = size;
    this.#left = size + 1;
    this.#parts = size <= this.#maxBytes ? [] : null;
  }

  #finish(): void {
    const parts = this.#parts;
    this.#left = -1;
    this.#parts = null;
    this.#waiting
      .shift()
      ?.resolve(parts === null ? { tooBig: this.#size } : { data: Buffer.concat(parts).subarray(0, this.#size) });
  }
}
