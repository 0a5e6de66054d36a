import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { isatty } from 'node:tty';
import type { CliEdition, LazyCommand } from './cli/command.ts';
import { main, type ProcessIo } from './cli/main.ts';
import { typedHere } from './cli/typed-here.ts';
import { aliases, commands } from './commands.ts';

/**
 * Runs the command line of this process.
 *
 * @param manifest - the program's package.json
 * @param changes - to the edition
 * @param own - commands instead of the product's
 */
export async function runProgram(
  manifest: URL,
  changes: Partial<CliEdition> = {},
  own: Readonly<Record<string, LazyCommand>> = commands,
): Promise<void> {
  const { version } = JSON.parse(readFileSync(manifest, 'utf8')) as {
    version: string;
  };

  // a closed pipe (`mcp-pruner why … | head`) is not a failure
  process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));
  // a closed stderr must not end a server
  process.stderr.on('error', () => {});

  const io: ProcessIo = {
    env: process.env,
    platform: process.platform,
    homeDir: homedir(),
    cwd: process.cwd(),
    readFile: (path) => readFileSync(path, 'utf8'),
    fileExists: existsSync,
    out: (text) => process.stdout.write(text),
    err: (text) => process.stderr.write(text),
    outIsTerminal: process.stdout.isTTY === true,
    columns: process.stdout.isTTY ? process.stdout.columns : undefined,
    errColumns: process.stderr.isTTY ? process.stderr.columns : undefined,
    errIsTerminal: process.stderr.isTTY === true,
    inIsTerminal: isatty(0),
    clock: { nowMs: Date.now },
    version,
    asTyped: typedHere([...Object.keys(own), ...Object.keys(aliases)], process),
    events: process,
    streams: () => ({ input: process.stdin, output: process.stdout }),
    exit: (code) => process.exit(code),
  };
  process.exitCode = await main(process.argv.slice(2), io, {
    commands: own,
    aliases,
    edition: async () => ({ ...(await import('./edition.ts')).edition, ...changes }),
  });
}
