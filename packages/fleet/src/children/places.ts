import { accessSync, constants, readFileSync, realpathSync, statSync } from 'node:fs';
import { delimiter, isAbsolute, join, resolve, sep } from 'node:path';
import { FleetError } from '../errors.ts';

/** A path with resolved links; `null` if it does not exist. */
function real(path: string): string | null {
  try {
    return realpathSync(path);
  } catch {
    return null;
  }
}

/**
 * Checks which programs may be started, and in which folders. Not a sandbox: programs run with all rights of the user.
 */
export class Places {
  readonly #commands: readonly string[];
  readonly #roots: readonly string[];
  readonly #path: string;

  /**
   * @param commands - agent names and absolute program paths
   * @param roots - allowed folders
   * @param path - the server's own PATH
   */
  constructor(commands: readonly string[], roots: readonly string[], path: string) {
    this.#commands = commands;
    this.#roots = roots.flatMap((root) => real(root) ?? []);
    this.#path = path;
  }

  allowsAgent(name: string): boolean {
    return this.#commands.includes(name);
  }

  /** Resolves an agent's name in the server's PATH. @throws FleetError `E-CHILD-COMMAND` */
  agentFile(command: string): string {
    for (const folder of this.#path.split(delimiter).filter((one) => isAbsolute(one))) {
      const file = join(folder, command);
      if (isProgram(file)) return file;
    }
    throw new FleetError('E-CHILD-COMMAND', { command, reason: 'it is not installed, or not in PATH' });
  }

  /** Resolves the path of an allowed program. @throws FleetError `E-CHILD-COMMAND` */
  commandFile(command: string): string {
    const refuse = (reason: string): FleetError => new FleetError('E-CHILD-COMMAND', { command, reason });
    if (!isAbsolute(command)) throw refuse('a command must be an absolute path');
    const file = real(command);
    if (file === null || !isProgram(file)) throw refuse('there is no such program');
    const allowed = this.#commands.filter((one) => isAbsolute(one)).map(real);
    if (!allowed.includes(file)) throw refuse('it is not in commands of MCP_PRUNER_CHILDREN');
    // keep the given path: programs such as busybox depend on the name by which they are called
    return resolve(command);
  }

  /** The working folder of a child. @throws FleetError `E-CHILD-COMMAND` for one outside the roots */
  folder(cwd: string | undefined): string {
    const [first] = this.#roots;
    if (first === undefined)
      throw new FleetError('E-CHILD-COMMAND', { reason: 'roots of MCP_PRUNER_CHILDREN has no folder' });
    const folder = real(resolve(first, cwd ?? '.'));
    if (folder === null || !this.#isInside(folder) || !statSync(folder).isDirectory()) {
      throw new FleetError('E-CHILD-COMMAND', { reason: 'cwd is not a folder inside roots of MCP_PRUNER_CHILDREN' });
    }
    return folder;
  }

  /** The text of a manifest file; `null` if it does not exist. @throws FleetError `E-CHILD-MANIFEST` */
  manifest(path: string, maxBytes: number): string | null {
    const file = real(resolve(this.#roots[0] ?? '/', path));
    if (file === null) return null;
    const refuse = (reason: string): FleetError => new FleetError('E-CHILD-MANIFEST', { manifest_path: path, reason });
    if (!this.#isInside(file)) throw refuse('it lies outside roots of MCP_PRUNER_CHILDREN');
    const stat = statSync(file);
    if (!stat.isFile()) throw refuse('it is not a file');
    if (stat.size > maxBytes) throw refuse(`it is larger than ${maxBytes} bytes`);
    return readFileSync(file, 'utf8');
  }

  #isInside(path: string): boolean {
    return this.#roots.some((root) => path === root || path.startsWith(root.endsWith(sep) ? root : root + sep));
  }
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return statSync(file).isFile();
  } catch {
    return false;
  }
}
