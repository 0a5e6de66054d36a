import { randomBytes } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';

/** A variable in the environment of a command. All its descendants inherit it, in any process group or session. */
const VARIABLE = 'MCP_COMMAND_TAG';

/** Random letters of a tag: 72 bits. */
function letters(): string {
  return randomBytes(9).toString('base64url');
}

/** Makes the tags of one server's commands, all with the same prefix. */
export class CommandTags {
  readonly #server = letters();

  /** The prefix of these tags' entries in an environment. */
  get entry(): string {
    return `${VARIABLE}=${this.#server}.`;
  }

  /** The tag variable for one command. */
  next(): Readonly<Record<typeof VARIABLE, string>> {
    return { [VARIABLE]: `${this.#server}.${letters()}` };
  }
}

export type CommandTag = ReturnType<CommandTags['next']>;

/**
 * The processes whose environment contains a tag, including those that left the command's process group (`setsid`,
 * daemons). Linux only: elsewhere the list is empty, and only the process group ends with a command.
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
    return []; // no /proc on this system
  }
}

function environOf(pid: string): Buffer {
  try {
    return readFileSync(`/proc/${pid}/environ`);
  } catch {
    return Buffer.alloc(0); // it has ended, or belongs to another user
  }
}
