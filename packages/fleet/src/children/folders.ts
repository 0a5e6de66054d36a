import { createHash } from 'node:crypto';
import { chmodSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

export class ChildFolders {
  readonly #root: string;

  constructor(root: string) {
    this.#root = root;
  }

  /** Names are hashes, because ids may contain any characters. */
  of(childId: string): string {
    return join(this.#root, createHash('sha256').update(childId).digest('hex').slice(0, 32));
  }

  fresh(childId: string): string {
    const folder = this.of(childId);
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    chmodSync(folder, 0o700);
    for (const stream of ['stdout', 'stderr']) writeFileSync(join(folder, stream), '', { mode: 0o600 });
    return folder;
  }

  write(folder: string, name: string, text: string): string {
    const file = join(folder, name);
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
    writeFileSync(file, text, { mode: 0o600 });
    return file;
  }

  writePrompt(folder: string, prompt: string): string {
    return this.write(folder, PROMPT, prompt);
  }

  removePrompt(childId: string): void {
    rmSync(join(this.of(childId), PROMPT), { force: true });
  }

  remove(childId: string): void {
    rmSync(this.of(childId), { recursive: true, force: true });
  }
}

const PROMPT = 'prompt';
