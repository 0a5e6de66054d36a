import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';

/** Marks the environment of a command, and with it of all that it starts, in whatever process group or session. */
const VARIABLE = 'MCP_COMMAND_TAG';

/** Random letters of a tag: 72 bits. */
function letters(): string {
  return randomBytes(9).toString('base64url');
}

/** Makes the tags of the commands of one server; all begin alike. */
export class CommandTags {
  readonly #server = letters();

  /** How the entry of each of these tags begins in an environment. */
  get entry(): string {
    return `${VARIABLE}=${this.#server}.`;
  }

  /** A variable for the environment of one command. */
  next(): Readonly<Record<typeof VARIABLE, string>> {
    return { [VARIABLE]: `${this.#server}.${letters()}` };
  }
}

export type CommandTag = ReturnType<CommandTags['next']>;

/**
 * The processes whose environment carries a tag: those that left the command's process group (`setsid`, a daemon) too.
 * Linux only; elsewhere none are found, and only the process group ends with a command.
 */
export function processesWith(tag: CommandTag): number[] {
  if (process.platform !== 'linux') return [];
  const entry = Buffer.from(`${VARIABLE}=${tag[VARIABLE]}`);
  return entriesOf('/proc')
    .filter((name) => /^\d{1,10}$/.test(name) && environOf(name).includes(entry))
    .map(Number);
}

function entriesOf(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return []; // no /proc here
  }
}

function environOf(pid: string): Buffer {
  try {
    return readFileSync(`/proc/${pid}/environ`);
  } catch {
    return Buffer.alloc(0); // it has gone, or belongs to another user
  }
}
